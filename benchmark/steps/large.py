"""A thousand clusters with 100,000 partitions: pure parts, places of tasks, and a query over ids of one topic."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from benchmark.context import Context
from benchmark.query import checkpoint, last_batch, noop, progress, running, used_heap_mib, wait
from benchmark.sources import Member, StreamsFile, product
from benchmark.stats import Spread
from benchmark.steps.programs import run_program

STEP = "large"
CODEC = ("encode", "decode", "reconcile")
IDLE = ("reconcile", "advance")
BUSY = ("reconcile", "advance", "encode", "decode", "between")
SHOWN = (1, 2, 3, 8, 31, 62, 248, 512, 600)
TOPIC = "large"
PROGRESS = "spark.sql.streaming.noDataProgressEventInterval"
"""How often Spark reports a trigger without records, in ms; 10 s by default."""
IDLE_TRIGGERS = 30


def run(bench: Context) -> None:
    """Measure what needs no brokers in JVMs of their own, then the query."""
    clusters, partitions = bench.sizes.large
    (found,) = run_program("offset.OffsetBenchmark", clusters, clusters * partitions, bench.sizes.large_rounds)
    (plan,) = run_program("source.read.PlanBenchmark", clusters, partitions, bench.sizes.large_rounds)
    _pure(bench, found, plan)
    _places(bench, plan["places"])
    _query(bench, clusters, partitions)


def _pure(bench: Context, found: dict[str, Any], plan: dict[str, Any]) -> None:
    bench.results.add(STEP, what="offsets", **found)
    bench.results.add(
        STEP, what="tasks", **{key: plan[key] for key in ("clusters", "partitions", "tasks", "nanos")}
    )
    bench.results.add(STEP, what="places", places=plan["places"])
    nanos = {**found["nanos"], "tasks": plan["nanos"]}

    def sums(parts: tuple[str, ...]) -> Spread:
        return Spread.of([sum(each) / 1e6 for each in zip(*(nanos[part] for part in parts), strict=True)])

    codec, idle, busy = sums(CODEC), sums(IDLE), sums((*BUSY, "tasks"))
    for name, spread in (("codec", codec), ("idle", idle), ("busy", busy)):
        bench.results.value(f"{STEP}.{name}", spread.median)
    bench.say(f"codec and reconcile {codec.show()} ms, idle {idle.show()} ms, busy {busy.show()} ms")
    parts = [Spread.of([n / 1e6 for n in nanos[part]]).show() for part in nanos]
    bench.results.table(
        f"{found['partitions']:,} partitions over {found['clusters']:,} clusters: the connector's own work in a "
        f"trigger, with scripted answers of the clusters and without Spark, ms; heap with it all "
        f"{found['heap_mib']} MiB",
        ["encode + decode + reconcile", "idle trigger", f"records in all: {plan['tasks']:,} tasks", *nanos],
        [[codec.show(), idle.show(), busy.show(), *parts]],
    )


def _places(bench: Context, places: list[dict[str, int]]) -> None:
    bench.results.value("places", float(sum(p["used"] != p["executors"] or p["fewest"] == 0 for p in places)))
    bench.results.table(
        "Places of tasks, 16 clusters with two partitions for each executor: fewest and most on an executor",
        ["executors", "used", "fewest", "most"],
        [[str(v) for v in p.values()] for p in places if p["executors"] in SHOWN],
    )


def _query(bench: Context, clusters: int, partitions: int) -> None:
    """A query over ids of one topic on each broker, since these brokers cannot hold all partitions."""
    for cluster in bench.near:
        cluster.create_topic(TOPIC, partitions=partitions)
        # A record in each partition.
        cluster.load(TOPIC, partitions, 20)
    brokers = [c.bootstrap_servers for c in bench.near]
    file = StreamsFile(
        bench.folder / "large.yaml",
        [Member(f"cluster-{i:04d}", brokers[i % len(brokers)], TOPIC) for i in range(clusters)],
    )
    options = {"allowDuplicateClusters": "true"}
    frame = product(bench.spark, file.path, options=options)
    bench.spark.conf.set(PROGRESS, "0")
    try:
        with checkpoint() as folder, running(noop(frame, folder).start()) as query:
            wait(query, lambda: last_batch(query) >= 0, "the first batch", timeout_s=900)
            for cluster in bench.near:
                cluster.load(TOPIC, partitions, 20)
            # A trigger without records has the number of the next batch.
            wait(query, lambda: len(_with_records(query)) > 1, "the second batch", timeout_s=900)
            busy = max(_with_records(query)[1:], key=lambda p: int(p["numInputRows"]))
            wait(query, lambda: len(_idle(query)) >= IDLE_TRIGGERS, "idle triggers", timeout_s=300)
            idle = _idle(query)
            heap = used_heap_mib(bench.spark)
    finally:
        bench.spark.conf.unset(PROGRESS)
    for found in idle:
        bench.results.add(STEP, what="idle trigger", rows=0, duration_ms=found["durationMs"])
    bench.results.add(
        STEP, what="trigger with records in all", rows=busy["numInputRows"], duration_ms=busy["durationMs"]
    )
    bench.results.add(STEP, what="heap", mib=heap)
    bench.results.value("large.heap", heap)
    triggers = Spread.of([float(p["durationMs"]["triggerExecution"]) for p in idle])
    bench.results.value("large.query.idle", triggers.median)
    bench.results.value("large.query.busy", float(busy["durationMs"]["triggerExecution"]))
    bench.results.table(
        f"A query over {clusters:,} ids of one topic with {partitions} partitions on two brokers, ms and MiB",
        ["idle trigger", "trigger with new records", "of which addBatch", "its records", "driver's heap after GC"],
        [
            [
                triggers.show(0),
                str(busy["durationMs"]["triggerExecution"]),
                str(busy["durationMs"].get("addBatch", 0)),
                f"{busy['numInputRows']:,}",
                f"{heap:.0f}",
            ]
        ],
    )


def _with_records(query: StreamingQuery) -> list[dict[str, Any]]:
    return [p for p in progress(query) if p["numInputRows"] > 0]


def _idle(query: StreamingQuery) -> list[dict[str, Any]]:
    """The triggers since the last batch, without the first one, which waits for responses that are not too old."""
    found = progress(query)
    busy = [n for n, p in enumerate(found) if p["numInputRows"] > 0]
    return found[(busy[-1] if busy else -1) + 2 :]
