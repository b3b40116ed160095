"""Reads compressed records, beside Spark's own source, Flink and a consumer without Spark."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmark.bare import read_bare, read_flink
from benchmark.context import Context
from benchmark.query import Timing
from benchmark.sources import SAME_SETTINGS, Member, StreamsFile, builtin, product
from benchmark.stats import Spread, ratios
from benchmark.steps.decode import SMALL, Records, alternating, frame_of, record_count

STEP = "compressed"
CODECS = ("none", "lz4", "zstd")
PRODUCT = "product"
BARE = "bare consumer, same settings"
FLINK = "Flink, same settings"
FIGURES = ("M rec/s reading", "with start", "CPU s per M", "product: reading", "with start")


def run(bench: Context) -> None:
    """Measure each codec on one cluster."""
    rows = []
    for codec in CODECS:
        rows += _measure(bench, codec, _topic(bench, codec))
    bench.results.table(
        f"Compressed JSON of 200 bytes as bytes, {record_count(bench):,} records, one cluster, to noop",
        ["codec", "reader", *FIGURES],
        rows,
    )


def _topic(bench: Context, codec: str) -> Member:
    cluster = bench.near[0]
    member = bench.member(cluster, "cluster-compressed", f"compressed-{codec}", 0)
    rows = frame_of(bench, SMALL)
    # A bare consumer expects as many records in each partition. A producer chooses a partition by batches.
    partition = (F.col("id") % bench.sizes.partitions).cast("int")
    (
        rows.select(F.to_json(F.struct(*rows.columns)).alias("value"), partition.alias("partition"))
        .write.format("kafka")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("kafka.compression.type", codec)
        .option("topic", member.topic)
        .save()
    )
    return member


def _measure(bench: Context, codec: str, member: Member) -> list[list[str]]:
    file = StreamsFile(bench.folder / f"compressed-{codec}.yaml", [member])
    readers: dict[str, Callable[[], DataFrame]] = {
        PRODUCT: lambda: product(bench.spark, file.path),
        "built-in, its defaults": lambda: builtin(bench.spark, [member], {}),
        "built-in, same settings": lambda: builtin(bench.spark, [member], SAME_SETTINGS),
    }
    kind = Records(codec, codec, SMALL.fields, SMALL.schema)
    kept = alternating(bench, STEP, kind, readers)
    kept |= others(bench, STEP, codec, member)
    return [row(codec, name, timings, kept[PRODUCT]) for name, timings in kept.items()]


def others(bench: Context, step: str, kind: str, member: Member, *schema: str) -> dict[str, list[Timing]]:
    """The timings of the readers without Spark. A consumer has only the bytes, also if Flink has a schema.

    Raises:
        RuntimeError: if the number of records is wrong.
    """
    expected = record_count(bench)
    sizes = bench.sizes
    found = {
        # One process each, of which the last round counts.
        BARE: [
            read_bare([member], sizes.partitions, expected, rounds=sizes.bare_cold_rounds)
            for _ in range(sizes.rounds)
        ],
        FLINK: read_flink(member, sizes.bare_cold_rounds + sizes.rounds, *schema)[sizes.bare_cold_rounds :],
    }
    for reader, rounds in found.items():
        for figures in rounds:
            if figures["records"] != expected:
                raise RuntimeError(f"{reader} has read {figures['records']} records, not {expected}")
            bench.results.add(step, records_kind=kind, reader=reader, cold=False, **figures)
    return {
        reader: [
            Timing(expected, 1, f["reading_nanos"] / 1e9, f["total_nanos"] / 1e9, f["cpu_nanos"] / 1e9, {})
            for f in rounds
        ]
        for reader, rounds in found.items()
    }


def row(kind: str, name: str, timings: list[Timing], ours: list[Timing]) -> list[str]:
    """A reader in a table."""
    both = (attrgetter("reading_s"), attrgetter("total_s"))
    rates = [Spread.of([t.records / seconds(t) / 1e6 for t in timings]).show() for seconds in both]
    cpu = Spread.of([t.cpu_s / t.records * 1e6 for t in timings]).show()
    times = [
        "" if timings is ours else f"{ratios(list(map(seconds, timings)), list(map(seconds, ours))).show()} x"
        for seconds in both
    ]
    return [kind, name, *rates, cpu, *times]
