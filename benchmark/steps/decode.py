"""Decodes JSON in the source, compared with Spark's from_json over the raw source on the same records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmark.context import Context
from benchmark.query import Timing, available_now
from benchmark.sources import SAME_SETTINGS, Member, StreamsFile, builtin, product
from benchmark.stats import Spread, ratios

STEP = "json"
# JSON takes longer than the reading of `throughput`.
SHARE = 3


@dataclass(frozen=True)
class Records:
    """A kind of record.

    `fields` are the SQL expressions of the fields over `id`, `schema` the columns that the query needs.
    """

    name: str
    text: str
    fields: dict[str, str]
    schema: str


SMALL = Records(
    "small",
    "200 bytes, all 6 fields",
    {
        "id": "id",
        "customer": "concat('customer-', sha2(cast(id as string), 256))",
        "amount": "id * 0.25D",
        "paid": "id % 2 = 0",
        "at": "date_format(timestamp_seconds(1700000000 + id), \"yyyy-MM-dd'T'HH:mm:ss'Z'\")",
        "country": "'Denmark'",
    },
    "id BIGINT, customer STRING, amount DOUBLE, paid BOOLEAN, at TIMESTAMP, country STRING",
)
WIDE = Records(
    "wide",
    "1 KB, 3 of 40 fields",
    {
        f"field_{n:02d}": ("id" if n % 4 == 0 else f"substr(sha2(concat(id, '{n}'), 256), 1, 12)")
        for n in range(40)
    },
    "field_04 BIGINT, field_21 STRING, field_38 STRING",
)


def run(bench: Context) -> None:
    """Measure both kinds of records on one cluster."""
    rows = []
    for records in (SMALL, WIDE):
        member = _topic(bench, records)
        rows += _measure(bench, records, member)
    bench.results.table(
        f"JSON to columns, {_count(bench):,} records, one cluster, to noop",
        ["records", "reader", "M rec/s reading", "CPU s per M", "product decodes: reading", "CPU"],
        rows,
    )


def _count(bench: Context) -> int:
    return max(1, bench.sizes.records // SHARE)


def _topic(bench: Context, records: Records) -> Member:
    # Expressions need a session.
    spark = bench.spark
    cluster = bench.near[0]
    topic = f"json-{records.name}"
    member = bench.member(cluster, "cluster-json", topic, 0)
    value = F.to_json(F.struct(*[F.expr(sql).alias(name) for name, sql in records.fields.items()])).alias("value")
    (
        spark.range(0, _count(bench), 1, bench.sizes.partitions)
        .select(value)
        .write.format("kafka")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("topic", topic)
        .save()
    )
    return member


def _measure(bench: Context, records: Records, member: Member) -> list[list[str]]:
    file = StreamsFile(bench.folder / f"json-{records.name}.yaml", [member])
    columns = [part.split(" ")[0] for part in records.schema.split(", ")]

    def parsed(raw: DataFrame) -> DataFrame:
        return raw.select(F.from_json(F.col("value").cast("string"), records.schema).alias("v")).select("v.*")

    def decoded() -> DataFrame:
        options = {"format": "json", "schema": records.schema, "parseErrors": "null"}
        return product(bench.spark, file.path, options=options).select(*columns)

    readers: dict[str, Callable[[], DataFrame]] = {
        "built-in, same settings, from_json": lambda: parsed(builtin(bench.spark, [member], SAME_SETTINGS)),
        "product, from_json": lambda: parsed(product(bench.spark, file.path)),
        "product, decodes": decoded,
    }
    kept: dict[str, list[Timing]] = {name: [] for name in readers}
    for round_ in bench.sizes.all_rounds():
        # The order alternates, because the first run may affect the next one.
        for name in list(readers) if round_ % 2 == 0 else list(readers)[::-1]:
            timing = available_now(bench.spark, readers[name], _count(bench))
            cold = round_ < bench.sizes.cold_rounds
            bench.results.add(
                STEP, records_kind=records.name, reader=name, round=round_, cold=cold, **timing.figures()
            )
            bench.say(
                f"{records.text}, {name}, round {round_}: {timing.records / timing.reading_s / 1e6:.2f} M rec/s"
            )
            if not cold:
                kept[name].append(timing)
    return [_row(bench, records, name, timings, kept["product, decodes"]) for name, timings in kept.items()]


def _row(bench: Context, records: Records, name: str, theirs: list[Timing], ours: list[Timing]) -> list[str]:
    rate = Spread.of([t.records / t.reading_s / 1e6 for t in theirs])
    cpu = Spread.of([t.cpu_s / t.records * 1e6 for t in theirs])
    if theirs is ours:
        return [records.text, name, rate.show(), cpu.show(), "", ""]
    reading = ratios([t.reading_s for t in theirs], [t.reading_s for t in ours])
    work = ratios([t.cpu_s for t in theirs], [t.cpu_s for t in ours])
    bench.results.value(
        f"{STEP}.{records.name}.{'product' if name.startswith('product') else 'builtin'}", reading.median
    )
    return [records.text, name, rate.show(), cpu.show(), f"{reading.show()} x", f"{work.show()} x"]
