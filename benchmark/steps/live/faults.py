"""How long healthy clusters wait when another one has a fault."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from pyspark.sql.streaming.query import StreamingQuery

from benchmark.context import Cluster, Context, Record
from benchmark.query import checkpoint, last_batch, noop, progress, running, wait
from benchmark.sources import Member, StreamsFile, product
from benchmark.stats import Spread

STEP = "faults"
HEALTHY = "healthy"


@dataclass(frozen=True)
class Fault:
    """A fault of a cluster, and how it ends."""

    name: str
    nodes: int
    begin: Callable[[Cluster], None]
    end: Callable[[Cluster], None]


def run(bench: Context) -> None:
    """Compare the longest gap between batches during the fault with the one before it, in the same query."""
    slow = bench.sizes.slow_answer_ms
    faults = {
        "frozen": Fault("frozen broker", 1, lambda c: c.freeze(), lambda c: c.thaw()),
        "leaderless": Fault(
            "partition without a leader", 3, lambda c: c.node(2).kill(), lambda c: c.node(2).restart()
        ),
        "slow": Fault("slow broker", 1, lambda c: c.delay_network(slow), lambda c: c.delay_network(0)),
    }
    rows = []
    for key in bench.sizes.faults:
        fault = faults[key]
        quiet, during = _measure(bench, f"faulty-{key}", fault)
        ratio = max(during) / max(quiet)
        bench.results.value(f"{STEP}.{key}", ratio)
        bench.results.add(STEP, fault=fault.name, quiet_gaps_s=quiet, fault_gaps_s=during)
        bench.say(f"{fault.name}: longest gap {max(during):.2f} s against {max(quiet):.2f} s")
        longest = (f"{max(quiet):.2f}", f"{max(during):.2f}", f"{ratio:.2f} x")
        rows.append([fault.name, Spread.of(quiet).show(), Spread.of(during).show(), *longest])
    bench.results.table(
        f"Time between batches with records of healthy clusters, with a fault of another one for "
        f"{bench.sizes.fault_s:g} s, s",
        ["fault", "without", "with", "longest without", "longest with", "ratio"],
        rows,
    )


def _measure(bench: Context, name: str, fault: Fault) -> tuple[list[float], list[float]]:
    faulty = bench.testkit.start(name, nodes=fault.nodes, round_trip_ms=0 if fault.nodes == 1 else None)
    with faulty:
        # Only node 2 has the partition, so no other one can be elected.
        faulty.create_topic(name, partitions=1, replicas=[2] if fault.nodes > 1 else [])
        faulty.produce(name, [Record(0, None, "x")])
        members = [bench.member(c, f"{HEALTHY}-{i}", HEALTHY, records=0) for i, c in enumerate(bench.near)]
        file = StreamsFile(
            bench.folder / f"{name}.yaml", [*members, Member("faulty", faulty.bootstrap_servers, name)]
        )
        frame = product(bench.spark, file.path, options={"clusterFailurePolicy": "skip"})
        window = bench.sizes.fault_s
        with (
            _feeding(bench.near),
            checkpoint() as folder,
            running(noop(frame, folder).start()) as query,
        ):
            wait(query, lambda: last_batch(query) >= 10, "the first batches")
            # Fixed times: the gaps are measured over them.
            begun = time.time()
            time.sleep(window)
            wait(query, lambda: len(_gaps(_ends(query), begun)) > 1, "batches without a fault")
            broken = time.time()
            fault.begin(faulty)
            time.sleep(window)
            ended = time.time()
            fault.end(faulty)
            # The batch that was running at the end of the window counts as well.
            wait(query, lambda: bool(_ends(query)) and _ends(query)[-1] > ended, "a batch after the fault")
            ends = _ends(query)
    # A gap that the fault has made longer is none without it.
    return _gaps([end for end in ends if end <= broken], begun), _gaps(ends, broken, ended)


def _ends(query: StreamingQuery) -> list[float]:
    """When the batches with records ended, in seconds since the epoch."""
    return [
        datetime.fromisoformat(p["timestamp"].replace("Z", "+00:00")).timestamp()
        + float(p["durationMs"]["triggerExecution"]) / 1e3
        for p in progress(query)
        if p["numInputRows"] > 0
    ]


def _gaps(ends: list[float], begin: float, end: float = float("inf")) -> list[float]:
    """The gaps that overlap the window. One that extends beyond it counts completely."""
    return [round(b - a, 3) for a, b in pairwise(ends) if b > begin and a < end]


@contextmanager
def _feeding(clusters: list[Cluster]) -> Iterator[None]:
    """Produces a record to each healthy cluster every few milliseconds."""
    over = threading.Event()

    def feed(cluster: Cluster) -> None:
        while not over.wait(0.01):
            cluster.produce(HEALTHY, [Record(0, None, "x")])

    threads = [threading.Thread(target=feed, args=(cluster,)) for cluster in clusters]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
