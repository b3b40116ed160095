"""`python -m tests.soak [--sink] --events 200 [--seed N]`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

# The testkit is not an installed package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jvm" / "testkit" / "python"))

from tests.harness.driver_pool import DriverPool
from tests.soak.plan import CLUSTERS
from tests.soak.run import soak
from tests.soak.sink_world import SinkWorld
from tests.soak.world import World


def main() -> int:
    """Run a soak test; return 1 if a record was lost or duplicated."""
    from dynamic_kafka_testkit import Testkit

    arguments = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    arguments.add_argument("--events", type=int, default=200, help="number of events (default: %(default)s)")
    arguments.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="repeats a run")
    arguments.add_argument("--sink", action="store_true", help="the query writes with exactly-once")
    given = arguments.parse_args()
    world = SinkWorld if given.sink else World
    folder = Path(tempfile.mkdtemp(prefix="dynamic-kafka-soak-"))
    drivers = DriverPool(folder / "drivers")
    try:
        with Testkit() as testkit:
            brokers = dict(zip(CLUSTERS, testkit.start_all(*CLUSTERS), strict=True))
            result = soak(
                given.seed, given.events, folder, brokers, drivers, lambda t: print(t, flush=True), world
            )
    except (AssertionError, TimeoutError) as error:
        print(f"FAILED, seed {given.seed}; the files are in {folder}\n{error}")
        return 1
    finally:
        drivers.close()
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(result.events.items()))
    print(f"{kinds}\n{result.summary}: none lost,")
    print(f"none duplicated; {result.seconds:.0f} s, seed {given.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
