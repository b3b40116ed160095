"""Decodes Avro in the source: with the schema given, and with the id of a schema in a registry."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import StructField, StructType

from benchmark.context import Context
from benchmark.query import Timing
from benchmark.sources import SAME_SETTINGS, STREAM, Member, StreamsFile, builtin, product
from benchmark.stats import Spread, ratios
from benchmark.steps.compressed import FIGURES, PRODUCT, others, row
from benchmark.steps.decode import SMALL, WIDE, Records, alternating, frame_of, record_count

STEP = "avro"
GIVEN = "avro"
REGISTRY = "avro-confluent"
GROUPED = Records(
    "grouped",
    "500 bytes, grouped",
    {
        "branch": "id % 1000",
        "customer": "concat('customer-', sha2(cast(id as string), 256))",
        "amount": "id * 0.25D",
        "note": "repeat(sha2(concat(id, '-'), 256), 6)",
    },
    "branch BIGINT, amount DOUBLE",
)


def run(bench: Context) -> None:
    """Measure the records of the step `json`, as Avro, on one cluster."""
    rows = []
    for records in (SMALL, WIDE):
        rows += _measure(bench, records)
    bench.results.table(
        f"Avro to columns, {record_count(bench):,} records, one cluster, to noop",
        ["records", "format", "M rec/s reading", "CPU s per M", "time of avro / time"],
        rows,
    )
    bench.results.table(
        f"Avro with a registry, grouped, {record_count(bench):,} records, one cluster, to noop",
        ["records", "reader", *FIGURES],
        _measure_grouped(bench),
    )


def _measure_grouped(bench: Context) -> list[list[str]]:
    """Each reader has 1,000 groups; the bare consumer has only the bytes."""
    records = GROUPED
    schema = StructType([StructField(f.name, f.dataType) for f in frame_of(bench, records).schema])
    with _registry() as (url, registered):
        options = {"format": REGISTRY, "registry.url": url}
        member, file = _topic(bench, records, REGISTRY, options)
        (text,) = registered

        def by_spark(properties: Mapping[str, str]) -> DataFrame:
            # Confluent's header has five bytes.
            avro = F.expr("substring(value, 6, length(value) - 5)")
            value = from_avro(avro, text, {"mode": "FAILFAST"}).alias("v")
            return _grouped(builtin(bench.spark, [member], properties).select(value).select("v.*"))

        readers: dict[str, Callable[[], DataFrame]] = {
            PRODUCT: lambda: _grouped(
                product(bench.spark, file.path, options={**options, "schema": schema.json()})
            ),
            "built-in, its defaults, from_avro": lambda: by_spark({}),
            "built-in, same settings, from_avro": lambda: by_spark(SAME_SETTINGS),
        }
        partitions = bench.spark.conf.get("spark.sql.shuffle.partitions")
        bench.spark.conf.set("spark.sql.shuffle.partitions", "2")
        try:
            kept = alternating(bench, STEP, records, readers, "update")
        finally:
            bench.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        kept |= others(bench, STEP, records.name, member, text)
    return [row(records.text, name, timings, kept[PRODUCT]) for name, timings in kept.items()]


def _grouped(frame: DataFrame) -> DataFrame:
    return frame.groupBy("branch").agg(F.count("*").alias("records"), F.sum("amount").alias("amount"))


def _measure(bench: Context, records: Records) -> list[list[str]]:
    # Records that are written without a schema have nullable fields only.
    schema = StructType([StructField(f.name, f.dataType) for f in frame_of(bench, records).schema])
    with _registry() as (url, _):
        readers: dict[str, Callable[[], DataFrame]] = {}
        for name in (GIVEN, REGISTRY):
            options = {"format": name}
            if name == REGISTRY:
                options["registry.url"] = url
            _, file = _topic(bench, records, name, options)
            reading = {**options, "schema": schema.json()}

            def read(file: StreamsFile = file, reading: dict[str, str] = reading) -> DataFrame:
                return product(bench.spark, file.path, options=reading).select(*records.columns)

            readers[name] = read
        kept = alternating(bench, STEP, records, readers)
    bench.results.value(
        f"{STEP}.{records.name}",
        ratios([t.reading_s for t in kept[GIVEN]], [t.reading_s for t in kept[REGISTRY]]).median,
    )
    return [_row(records, name, timings, kept[GIVEN]) for name, timings in kept.items()]


def _row(records: Records, name: str, timings: list[Timing], given: list[Timing]) -> list[str]:
    rate = Spread.of([t.records / t.reading_s / 1e6 for t in timings])
    cpu = Spread.of([t.cpu_s / t.records * 1e6 for t in timings])
    ratio = ratios([t.reading_s for t in given], [t.reading_s for t in timings])
    return [records.text, name, rate.show(), cpu.show(), "" if name == GIVEN else ratio.show()]


def _topic(bench: Context, records: Records, name: str, options: dict[str, str]) -> tuple[Member, StreamsFile]:
    cluster = bench.near[0]
    topic = f"{name}-{records.name}"
    member: Member = bench.member(cluster, "cluster-avro", topic, 0)
    file = StreamsFile(bench.folder / f"{topic}.yaml", [member])
    (
        frame_of(bench, records)
        .withColumn("partition", F.spark_partition_id())
        .write.format("dynamic-kafka")
        .option("metadataService", "file")
        .option("metadataService.path", str(file.path))
        .option("streamId", STREAM)
        .options(**options)
        .mode("append")
        .save()
    )
    return member, file


class _Schemas(BaseHTTPRequestHandler):
    """Registers each schema under its position in a list."""

    kept: list[str]

    def do_POST(self) -> None:
        """Register the schema of the request."""
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["schema"]
        if text not in self.kept:
            self.kept.append(text)
        self._answer({"id": self.kept.index(text) + 1, "schema": text, "version": 1})

    def do_GET(self) -> None:
        """Give the schema of an id."""
        number = int(self.path.split("?")[0].rsplit("/", 1)[1])
        self._answer({"schema": self.kept[number - 1], "schemaType": "AVRO"})

    def _answer(self, body: dict[str, object]) -> None:
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the figures are printed."""


@contextmanager
def _registry() -> Iterator[tuple[str, list[str]]]:
    """A registry of schemas that answers what reading and writing ask for. Schemas are fetched once for each query."""
    kept: list[str] = []
    handler = type("Handler", (_Schemas,), {"kept": kept})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
