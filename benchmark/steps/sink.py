"""Writing, compared with Spark's own Kafka sink, and the cost of exactly-once."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from benchmark.context import Context
from benchmark.query import checkpoint, collect_garbage, last_batch, progress, running, used_heap_mib, wait
from benchmark.sources import STREAM, Member, StreamsFile
from benchmark.stats import Spread, ratios

STEP = "sink"
SPARK = "built-in, its defaults"
SPARK_SAME = "built-in, same settings"
AT_LEAST_ONCE = "at-least-once"
EXACTLY_ONCE = "exactly-once"

SAME_SETTINGS = {"kafka.batch.size": str(256 * 1024), "kafka.linger.ms": "5"}
"""The defaults that the connector sets."""


@dataclass(frozen=True)
class Batches:
    """A query that generates its records, a fixed number per batch."""

    rows: int
    partitions: int
    kept: int
    """Measured batches; the first one of each query is not measured."""


def run(bench: Context) -> None:
    """Measure rates on one cluster, then many small transactions on two, then the heap over many batches."""
    _rates(bench)
    _transactions(bench)
    _heap(bench)


def _rates(bench: Context) -> None:
    sizes = bench.sizes
    target = _target(bench, "rates", 1, partitions=sizes.partitions)
    batches = Batches(sizes.sink_records, sizes.partitions, sizes.sink_batches)
    writers: dict[str, dict[str, str]] = {
        SPARK: {},
        SPARK_SAME: SAME_SETTINGS,
        AT_LEAST_ONCE: {},
        EXACTLY_ONCE: {},
    }
    kept: dict[str, list[float]] = {name: [] for name in writers}
    names = list(writers)
    for round_ in sizes.all_rounds():
        for name in names if round_ % 2 == 0 else names[::-1]:
            builtin = name in (SPARK, SPARK_SAME)
            seconds = _write(bench, target, batches, None if builtin else name, writers[name])[0]
            cold = round_ < sizes.cold_rounds
            bench.results.add(STEP, part="rates", writer=name, round=round_, cold=cold, batch_s=seconds)
            if not cold:
                kept[name].append(statistics.median(seconds))
        bench.say(f"round {round_}")
    once = ratios(kept[AT_LEAST_ONCE], kept[EXACTLY_ONCE])
    rows = []
    for name, seconds in kept.items():
        ratio = ratios(kept[SPARK], seconds)
        rate = Spread.of([batches.rows / s / 1e6 for s in seconds]).show()
        rows.append([name, rate, "" if name == SPARK else f"{ratio.show()} x"])
    bench.results.value("sink.spark", ratios(kept[SPARK], kept[AT_LEAST_ONCE]).median)
    bench.results.value("sink.same", ratios(kept[SPARK_SAME], kept[AT_LEAST_ONCE]).median)
    bench.results.value("sink.once", once.median)
    bench.results.table(
        f"Writing to one cluster, batches of {batches.rows:,} records of {sizes.record_bytes} bytes, "
        f"{batches.partitions} tasks",
        ["writer", "M rec/s", "ratio to the built-in sink"],
        rows,
    )


def _transactions(bench: Context) -> None:
    """Write two transactions with few records per task, so that the cost of transactions dominates."""
    sizes = bench.sizes
    target = _target(bench, "transactions", 2, partitions=sizes.partitions)
    rows = []
    for tasks in sizes.sink_tasks:
        batches = Batches(tasks * 20, tasks, sizes.sink_small_batches)
        kept: dict[str, list[float]] = {AT_LEAST_ONCE: [], EXACTLY_ONCE: []}
        commits: list[float] = []
        for round_ in sizes.all_rounds():
            cold = round_ < sizes.cold_rounds
            for name in kept if round_ % 2 == 0 else reversed(kept):
                seconds, commit_s = _write(bench, target, batches, name, {})
                kept[name] += [] if cold else seconds
                commits += commit_s if name == EXACTLY_ONCE and not cold else []
                bench.results.add(
                    STEP,
                    part="transactions",
                    tasks=tasks,
                    writer=name,
                    round=round_,
                    cold=cold,
                    batch_s=seconds,
                    commit_s=commit_s,
                )
        plain, once = (statistics.median(kept[name]) for name in (AT_LEAST_ONCE, EXACTLY_ONCE))
        bench.say(f"{tasks * 2} transactions: {plain:.2f} s, {once:.2f} s")
        if tasks == sizes.sink_tasks[-1]:
            bench.results.value("sink.added", (once - plain) * 1000)
        rows.append(
            [
                str(tasks * 2),
                Spread.of(kept[AT_LEAST_ONCE]).show(),
                Spread.of(kept[EXACTLY_ONCE]).show(),
                f"{(once - plain) * 1000:.0f}",
                Spread.of([s * 1000 for s in commits]).show(),
            ]
        )
    bench.results.table(
        "Exactly-once, two clusters, a batch",
        ["transactions", "at-least-once, s", "exactly-once, s", "additional, ms", "driver's commit, ms"],
        rows,
    )


def _heap(bench: Context) -> None:
    target = _target(bench, "heap", 2, partitions=1)
    early, late = bench.sizes.sink_heap_batches
    bench.spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10")
    heap: list[float] = []
    try:
        with checkpoint() as folder:
            writer = _writer(bench, target, Batches(4, 2, 0), EXACTLY_ONCE, {}, folder)
            with running(writer.start()) as query:
                for point in (early, late):
                    wait(query, lambda n=point: last_batch(query) >= n, f"batch {point}", timeout_s=1200)  # type: ignore[misc]
                    heap.append(used_heap_mib(bench.spark))
                    bench.results.add(STEP, part="heap", batch=point, heap_mib=heap[-1])
    finally:
        bench.spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "2000")
    bench.results.value("sink.heap", heap[-1] - heap[0])
    bench.results.table(
        "Heap of the driver after GC, exactly-once, MiB",
        [f"batch {early}", f"batch {late}", "growth"],
        [[*(f"{mib:.1f}" for mib in heap), f"{heap[-1] - heap[0]:.1f}"]],
    )


def _target(bench: Context, name: str, clusters: int, partitions: int) -> tuple[StreamsFile, list[Member]]:
    topic = f"sink-{name}"
    members = []
    for i, cluster in enumerate(bench.near[:clusters]):
        # The records are not read: old ones are deleted, so that the disk does not fill up.
        cluster.create_topic(
            topic, partitions=partitions, configs={"retention.bytes": str(2**28), "segment.bytes": str(2**26)}
        )
        members.append(Member(f"cluster-{i}", cluster.bootstrap_servers, topic))
    return StreamsFile(bench.folder / f"{topic}.yaml", members), members


def _frame(bench: Context, batches: Batches) -> DataFrame:
    size = bench.sizes.record_bytes - 8
    return (
        bench.spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", batches.rows)
        .option("numPartitions", batches.partitions)
        .load()
        .selectExpr(
            "cast(cast(value as string) as binary) as key",
            f"cast(lpad(cast(value as string), {size}, 'x') as binary) as value",
        )
    )


def _writer(
    bench: Context,
    target: tuple[StreamsFile, list[Member]],
    batches: Batches,
    guarantee: str | None,
    options: dict[str, str],
    folder: str,
) -> Any:
    file, members = target
    writer = _frame(bench, batches).writeStream.option("checkpointLocation", folder).options(**options)
    if guarantee is None:
        return (
            writer.format("kafka")
            .option("kafka.bootstrap.servers", members[0].bootstrap_servers)
            .option("topic", members[0].topic)
        )
    return (
        writer.format("dynamic-kafka")
        .option("metadataService", "file")
        .option("metadataService.path", str(file.path))
        .option("streamId", STREAM)
        .option("deliveryGuarantee", guarantee)
    )


def _write(
    bench: Context,
    target: tuple[StreamsFile, list[Member]],
    batches: Batches,
    guarantee: str | None,
    options: dict[str, str],
) -> tuple[list[float], list[float]]:
    """The seconds of `addBatch` of the measured batches, and the part of the driver's commits."""
    collect_garbage(bench.spark)
    with checkpoint() as folder:
        with running(_writer(bench, target, batches, guarantee, options, folder).start()) as query:
            # The first batch opens the producers that the others use.
            wait(query, lambda: last_batch(query) >= batches.kept, f"{batches.kept + 1} batches", timeout_s=600)
            found = [p for p in progress(query) if 1 <= p["batchId"] <= batches.kept]
    for batch in found:
        if batch["numInputRows"] != batches.rows:
            raise RuntimeError(f"a batch has {batch['numInputRows']} rows, not {batches.rows}")
    commits = [int(p["sink"].get("metrics", {}).get("commitMs", 0)) / 1000 for p in found]
    return [p["durationMs"]["addBatch"] / 1000 for p in found], commits
