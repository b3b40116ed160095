"""The planning time of a trigger with distant brokers."""

from __future__ import annotations

import threading
from typing import Any

from benchmark.context import Cluster, Context, Record
from benchmark.query import checkpoint, last_batch, noop, progress, running, wait
from benchmark.sources import Member, StreamsFile, product
from benchmark.stats import Spread

STEP = "planning"
PHASES = ("latestOffset", "getBatch", "queryPlanning")
LATEST = "planning.64"
KINDS = {"one has data": LATEST, "all have data": "planning.64.busy"}


def run(bench: Context) -> None:
    """Run the same query over a growing number of cluster ids, with data in one of them, and in all."""
    rows = []
    for kind, target in KINDS.items():
        first: float | None = None
        for count in bench.sizes.scale:
            batches = _measure(bench, count, all_of_them=kind.startswith("all"))
            for batch in batches:
                bench.results.add(STEP, clusters=count, kind=kind, duration_ms=batch["durationMs"])
            whole = Spread.of([_planning_ms(b) for b in batches])
            first = whole.median if first is None else first
            bench.say(f"{count} cluster id(s), {kind}: {whole.show(0)} ms")
            phases = [
                Spread.of([b["durationMs"].get(p, 0) for b in batches]).show(0) for p in (*PHASES, "addBatch")
            ]
            rows.append([str(count), kind, whole.show(0), f"{whole.median / first:.2f} x", *phases])
            if count == 64:
                bench.results.value(target, whole.median)
                if target == LATEST:
                    latest = Spread.of([float(b["durationMs"].get("latestOffset", 0)) for b in batches])
                    bench.results.value(f"{LATEST}.latest", latest.median)
    bench.results.table(
        f"Planning of a trigger with {bench.sizes.round_trip_ms:g} ms added round trip, ms",
        ["cluster ids", "which", "planning", "ratio to the first", *PHASES, "addBatch (not included)"],
        rows,
    )


def _planning_ms(batch: dict[str, Any]) -> float:
    return sum(float(batch["durationMs"].get(phase, 0)) for phase in PHASES)


def _measure(bench: Context, count: int, all_of_them: bool) -> list[dict[str, Any]]:
    members = bench.members(bench.far, "planning", count, records=0)
    file = StreamsFile(bench.folder / f"planning-{count}.yaml", members)
    fed = members if all_of_them else members[:1]
    clusters = {c.bootstrap_servers: c for c in bench.far}

    with checkpoint() as folder:
        # New records are produced right after each batch, so that each trigger finds some in every fed cluster.
        feed = Feed(clusters, fed)
        feed.once()
        with running(noop(product(bench.spark, file.path), folder).start()) as query:
            wanted = bench.sizes.triggers + 2
            for n in range(wanted):
                wait(query, lambda n=n: last_batch(query) >= n, f"batch {n}")  # type: ignore[misc]
                feed.once()
            # The first two batches open clients and consumers.
            return _with_rows(progress(query))[2:]


def _with_rows(batches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [b for b in batches if b["numInputRows"] > 0]


class Feed:
    """Produces one record to each of some topics, on both brokers concurrently and without the added round trip."""

    def __init__(self, clusters: dict[str, Cluster], members: list[Member]) -> None:
        self._by_broker = [
            (cluster, [m.topic for m in members if m.bootstrap_servers == address])
            for address, cluster in clusters.items()
        ]

    def once(self) -> None:
        threads = [threading.Thread(target=_load, args=entry) for entry in self._by_broker]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def _load(cluster: Cluster, topics: list[str]) -> None:
    for topic in topics:
        cluster.produce(topic, [Record(0, None, "x")])
