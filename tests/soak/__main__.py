"""`python -m tests.soak [--sink [--state] | --real-time] [--events 200 | --minutes 60] [--nodes 3] [--seed N]`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

# The testkit is not an installed package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jvm" / "testkit" / "python"))

from tests.harness.driver_pool import DriverPool
from tests.soak.layout import CLUSTERS, SEVERAL
from tests.soak.losses import BROKER
from tests.soak.plan import Scope
from tests.soak.run import Length, Result, soak

EVENTS = 200


def main() -> int:
    """Run a soak test; return 1 if there is an anomaly."""
    from dynamic_kafka_testkit import Testkit

    arguments = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    arguments.add_argument("--events", type=int, help=f"number of events (default: {EVENTS})")
    arguments.add_argument("--minutes", type=float, help="no other event begins after this time")
    arguments.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="repeats a run")
    arguments.add_argument("--sink", action="store_true", help="the query writes with exactly-once")
    arguments.add_argument(
        "--state", action="store_true", help="with --sink: a query with a state, no order of keys"
    )
    arguments.add_argument("--real-time", action="store_true", help="a query in real-time mode, which writes")
    arguments.add_argument(
        "--nodes", type=int, help=f"brokers of {SEVERAL} (default: 3, with --sink or --real-time 1)"
    )
    given = arguments.parse_args()
    only_reads = not given.sink and not given.real_time
    nodes = given.nodes or (3 if only_reads else 1)
    events = given.events if given.events or given.minutes else EVENTS
    # Which of the records that a query that writes has read are lost is not modelled.
    scope = Scope(
        writes=given.sink,
        losses=only_reads,
        several=nodes > 1,
        # The task that hangs is one that writes.
        timeouts=given.sink and not given.state,
        state=given.state,
        real_time=given.real_time,
    )
    folder = Path(tempfile.mkdtemp(prefix="dynamic-kafka-soak-"))
    drivers = DriverPool(folder / "drivers")
    try:
        with Testkit() as testkit:
            clusters = testkit.start_all(*CLUSTERS, properties=BROKER, nodes={SEVERAL: nodes})
            result = soak(
                given.seed,
                Length(events, given.minutes),
                folder,
                dict(zip(CLUSTERS, clusters, strict=True)),
                drivers,
                lambda text: print(text, flush=True),
                scope,
                # Hours of records have to fit in memory at the end.
                pause_s=1.0 if given.minutes else 0.25,
            )
    except (AssertionError, TimeoutError) as error:
        print(f"FAILED, seed {given.seed}; the files are in {folder}\n{error}")
        return 1
    finally:
        drivers.close()
    _print(result, given.seed)
    return 0


def _print(result: Result, seed: int) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(result.events.items()))
    print(f"{result.events.total()} events: {kinds}")
    print(f"{result.summary}: nothing lost, unseen, duplicate, withdrawn, unexpected or out of order")
    average = sum(result.loads) / len(result.loads)
    print(f"{result.seconds / 60:.1f} minutes, load {average:.1f} (at most {max(result.loads):.1f}), seed {seed}")


if __name__ == "__main__":
    sys.exit(main())
