"""Decodes JSON in the source, compared with Spark's from_json over the raw source on the same records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
DECODES = "product, decodes"


@dataclass(frozen=True)
class Records:
    """A kind of record.

    `fields` are the SQL expressions of the fields over `id`, `schema` the columns that the query needs.
    """

    name: str
    text: str
    fields: dict[str, str]
    schema: str

    @property
    def columns(self) -> list[str]:
        """The names of the columns that the query needs."""
        return [part.split(" ")[0] for part in self.schema.split(", ")]


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
        rows += _measure(bench, records, _topic(bench, records))
    bench.results.table(
        f"JSON to columns, {record_count(bench):,} records, one cluster, to noop",
        ["records", "reader", "M rec/s reading", "CPU s per M", "product decodes: reading", "CPU"],
        rows,
    )


def record_count(bench: Context) -> int:
    """How many records each topic has, as many in each partition."""
    partitions = bench.sizes.partitions
    return max(1, bench.sizes.records // SHARE // partitions) * partitions


def frame_of(bench: Context, records: Records) -> DataFrame:
    """The records as columns, each partition of which is a task."""
    # Expressions need a session.
    spark = bench.spark
    fields = [F.expr(sql).alias(name) for name, sql in records.fields.items()]
    return spark.range(0, record_count(bench), 1, bench.sizes.partitions).select(*fields)


def _topic(bench: Context, records: Records) -> Member:
    cluster = bench.near[0]
    topic = f"json-{records.name}"
    member = bench.member(cluster, "cluster-json", topic, 0)
    rows = frame_of(bench, records)
    (
        rows.select(F.to_json(F.struct(*rows.columns)).alias("value"))
        .write.format("kafka")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("topic", topic)
        .save()
    )
    return member


def alternating(
    bench: Context,
    step: str,
    records: Records,
    readers: Mapping[str, Callable[[], DataFrame]],
    output_mode: str = "append",
) -> dict[str, list[Timing]]:
    """The timings of the warm rounds, by reader. The order alternates: the first run may affect the next one."""
    kept: dict[str, list[Timing]] = {name: [] for name in readers}
    for round_ in bench.sizes.all_rounds():
        for name in list(readers) if round_ % 2 == 0 else list(readers)[::-1]:
            timing = available_now(bench.spark, readers[name], record_count(bench), output_mode)
            cold = round_ < bench.sizes.cold_rounds
            bench.results.add(
                step, records_kind=records.name, reader=name, round=round_, cold=cold, **timing.figures()
            )
            rate = timing.records / timing.reading_s / 1e6
            bench.say(f"{records.text}, {name}, round {round_}: {rate:.2f} M rec/s")
            if not cold:
                kept[name].append(timing)
    return kept


def _measure(bench: Context, records: Records, member: Member) -> list[list[str]]:
    file = StreamsFile(bench.folder / f"json-{records.name}.yaml", [member])

    def parsed(raw: DataFrame) -> DataFrame:
        return raw.select(F.from_json(F.col("value").cast("string"), records.schema).alias("v")).select("v.*")

    def decoded(schema: str, parse_errors: str = "null") -> DataFrame:
        options = {"format": "json", "schema": schema, "parseErrors": parse_errors}
        return product(bench.spark, file.path, options=options).select(*records.columns)

    readers: dict[str, Callable[[], DataFrame]] = {
        "built-in, same settings, from_json": lambda: parsed(builtin(bench.spark, [member], SAME_SETTINGS)),
        "product, from_json": lambda: parsed(product(bench.spark, file.path)),
        DECODES: lambda: decoded(records.schema),
        "product, not decoded": lambda: product(bench.spark, file.path).select("value"),
    }
    if len(records.columns) < len(records.fields):
        # A table has all fields, and a query needs some of them.
        whole = frame_of(bench, records).schema.json()
        readers["product, has all columns"] = lambda: decoded(whole)
        readers["product, decodes all columns"] = lambda: decoded(whole, "drop")
    kept = alternating(bench, STEP, records, readers)
    return [_row(bench, records, name, timings, kept[DECODES]) for name, timings in kept.items()]


def _row(bench: Context, records: Records, name: str, theirs: list[Timing], ours: list[Timing]) -> list[str]:
    rate = Spread.of([t.records / t.reading_s / 1e6 for t in theirs])
    cpu = Spread.of([t.cpu_s / t.records * 1e6 for t in theirs])
    if theirs is ours:
        return [records.text, name, rate.show(), cpu.show(), "", ""]
    reading = ratios([t.reading_s for t in theirs], [t.reading_s for t in ours])
    work = ratios([t.cpu_s for t in theirs], [t.cpu_s for t in ours])
    if name.endswith("from_json"):
        side = "product" if name.startswith("product") else "builtin"
        bench.results.value(f"{STEP}.{records.name}.{side}", reading.median)
    return [records.text, name, rate.show(), cpu.show(), f"{reading.show()} x", f"{work.show()} x"]
