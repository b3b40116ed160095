"""Reads compressed records, beside Spark's own source and a consumer without Spark."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmark.bare import read_bare
from benchmark.context import Context
from benchmark.query import Timing
from benchmark.sources import SAME_SETTINGS, Member, StreamsFile, builtin, product
from benchmark.stats import Spread, ratios
from benchmark.steps.decode import SMALL, Records, alternating, frame_of, record_count

STEP = "compressed"
CODECS = ("none", "lz4", "zstd")
PRODUCT = "product"
BARE = "bare consumer, same settings"


def run(bench: Context) -> None:
    """Measure each codec on one cluster."""
    rows = []
    for codec in CODECS:
        rows += _measure(bench, codec, _topic(bench, codec))
    bench.results.table(
        f"Compressed JSON of 200 bytes as bytes, {record_count(bench):,} records, one cluster, to noop",
        ["codec", "reader", "M rec/s reading", "CPU s per M", "product: reading"],
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
    kept[BARE] = [_bare(bench, codec, member) for _ in range(bench.sizes.rounds)]
    return [_row(codec, name, timings, kept[PRODUCT]) for name, timings in kept.items()]


def _bare(bench: Context, codec: str, member: Member) -> Timing:
    """One consumer process, of which the last round counts."""
    records = record_count(bench)
    found = read_bare([member], bench.sizes.partitions, records, rounds=bench.sizes.bare_cold_rounds)
    bench.results.add(STEP, records_kind=codec, reader=BARE, cold=False, **found)
    return Timing(
        records, 1, found["reading_nanos"] / 1e9, found["total_nanos"] / 1e9, found["cpu_nanos"] / 1e9, {}
    )


def _row(codec: str, name: str, timings: list[Timing], ours: list[Timing]) -> list[str]:
    rate = Spread.of([t.records / t.reading_s / 1e6 for t in timings])
    cpu = Spread.of([t.cpu_s / t.records * 1e6 for t in timings])
    ratio = (
        ""
        if timings is ours
        else f"{ratios([t.reading_s for t in timings], [t.reading_s for t in ours]).show()} x"
    )
    return [codec, name, rate.show(), cpu.show(), ratio]
