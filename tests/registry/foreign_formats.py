"""Each format with producers and consumers of other projects, on two clusters, through a topology change and a restart.

`make extra NAME=registry`. Not a name that pytest looks for, because `make test` would have to fetch 140 MB.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dynamic_kafka import DynamicKafka
from dynamic_kafka_testkit import Cluster
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.harness.sink import replace
from tests.harness.waiting import until
from tests.registry import envelopes, orders
from tests.registry.changing import STREAM, ChangingService
from tests.registry.clients import Foreign
from tests.registry.orders import Fields, Read, Write
from tests.registry.server import Registry

READS = orders.READS + envelopes.READS
WRITES = orders.WRITES + envelopes.WRITES
# Each trigger waits for all clusters, so that `processAllAvailable` is exact.
EXACT = {"clusterSnapshotMaxAgeMs": "0", "streamMetadataDiscoveryIntervalMs": "50"}


class Scene:
    """Two clusters with their registries, and a topic of the test on both."""

    def __init__(
        self, spark: SparkSession, clusters: list[Cluster], registries: tuple[Registry, Registry], foreign: Foreign
    ) -> None:
        self.spark = spark
        self.foreign = foreign
        self.clusters = dict(zip(("blue", "green"), clusters, strict=True))
        self.registries = dict(zip(("blue", "green"), registries, strict=True))
        self.topic = f"formats-{uuid.uuid4().hex[:8]}"
        for cluster in clusters:
            cluster.create_topic(self.topic, partitions=2)
        self.service = ChangingService(self.topic, self.clusters)
        self._queries: list[StreamingQuery] = []

    def registry_options(self, format_: str) -> dict[str, str]:
        """The registry of each cluster, for formats that have one."""
        if not format_.endswith("-confluent"):
            return {}
        return {f"cluster.{name}.registry.url": registry.url for name, registry in self.registries.items()}

    def started(self, query: StreamingQuery) -> StreamingQuery:
        """Stop the query at the end of the test, if it still runs."""
        self._queries.append(query)
        return query

    def close(self) -> None:
        """Stop the queries."""
        for query in self._queries:
            query.stop()


@pytest.fixture
def scene(
    spark: SparkSession, clusters: list[Cluster], registries: tuple[Registry, Registry], foreign: Foreign
) -> Iterator[Scene]:
    scene = Scene(spark, clusters, registries, foreign)
    yield scene
    scene.close()


def settle(query: StreamingQuery) -> None:
    """A running trigger may have asked for end offsets too early, the next one has not."""
    query.processAllAvailable()
    query.processAllAvailable()


def difference(found: Counter[Any], expected: Counter[Any]) -> dict[str, list[Any]]:
    """What is missing, and what was found too often."""
    return {
        "missing": sorted((expected - found).elements(), key=str),
        "too many": sorted((found - expected).elements(), key=str),
    }


NONE: dict[str, list[Any]] = {"missing": [], "too many": []}


class Reader:
    """A query that reads the stream, with all its runs; `found` has the rows of each batch."""

    def __init__(self, scene: Scene, case: Read, folder: Path) -> None:
        self._scene = scene
        self._case = case
        self._checkpoint = str(folder / "checkpoint")
        self._options = {**EXACT, **case.options, **scene.registry_options(case.format)}
        if case.format == "protobuf":
            file = scene.foreign.descriptor_file(case.codec, folder / "order.desc")
            self._options["protobuf.descriptorFile"] = file
        self._sent: Counter[Any] = Counter()
        self._batches: dict[int, list[tuple[Any, ...]]] = {}

    def send(self, cluster: str, ids: range, is_read: bool = True) -> None:
        """The records of these rows, by the producer of another project."""
        scene, case = self._scene, self._case
        values = [(f"k{i}", value) for i in ids for value in case.values(cluster, i)]
        scene.foreign.produce(scene.clusters[cluster], scene.registries[cluster], scene.topic, case.codec, values)
        if is_read:
            self._sent.update((cluster, *row) for i in ids for row in case.rows(i))

    def start(self) -> StreamingQuery:
        """A run of the query."""
        builder = DynamicKafka.builder(self._scene.spark).set_kafka_metadata_service(self._scene.service)
        builder = builder.set_stream_ids(STREAM).set_options({"format": self._case.format, **self._options})
        frame = builder.set_option("startingOffsets", "earliest").set_option("maxOffsetsPerTrigger", 8).load()

        def keep(batch: DataFrame, number: int) -> None:
            self._batches[number] = [tuple(row) for row in batch.collect()]

        rows = frame.selectExpr("cluster", *self._case.columns)
        writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", self._checkpoint)
        return self._scene.started(writer.trigger(processingTime="0 seconds").start())

    def difference(self) -> dict[str, list[Any]]:
        """Between what was sent and what was read."""
        return difference(Counter(row for rows in self._batches.values() for row in rows), self._sent)


@pytest.mark.parametrize("case", READS, ids=lambda case: case.format)
def test_read(scene: Scene, tmp_path: Path, case: Read) -> None:
    """Green enters, the query is stopped in the middle and restarted, and blue is drained and leaves."""
    reader = Reader(scene, case, tmp_path)
    reader.send("blue", range(0, 6))
    reader.send("green", range(100, 106))
    scene.service.define(blue="active")
    query = reader.start()
    settle(query)
    scene.service.change(blue="active", green="active")
    settle(query)
    reader.send("blue", range(6, 18))
    reader.send("green", range(106, 118))
    query.stop()
    reader.send("green", range(118, 121))
    query = reader.start()
    settle(query)
    reader.send("blue", range(18, 21))
    scene.service.change(blue="draining", green="active")
    settle(query)
    reader.send("blue", range(900, 903), is_read=False)
    scene.service.change(green="active")
    reader.send("green", range(121, 124))
    settle(query)
    query.stop()
    assert reader.difference() == NONE


class Writer:
    """A query that writes the rows of files to the stream, with all its runs."""

    def __init__(self, scene: Scene, case: Write, folder: Path) -> None:
        self._scene = scene
        self._case = case
        self._folder = folder
        (folder / "rows").mkdir()
        self._options = {
            **case.options,
            **scene.registry_options(case.format),
            "deliveryGuarantee": "exactly-once",
        }
        self._expected: dict[str, Counter[Any]] = {name: Counter() for name in scene.clusters}

    def add(self, ids: range, *targets: str, routed_to: str | None = None) -> None:
        """A file with these rows, for these clusters in turn; without any, their cluster is null."""
        lines: list[Fields] = []
        for n, i in enumerate(ids):
            target = targets[n % len(targets)] if targets else None
            lines.append({**orders.micros(orders.order(i)), "target": target})
            self._expected[target or str(routed_to)][self._shown(f"k{i}", self._case.value(i))] += 1
        file = self._folder / "rows" / f"{ids.start}.json"
        replace(file, "\n".join(json.dumps(line) for line in lines))

    def start(self) -> StreamingQuery:
        """A run of the query."""
        spark = self._scene.spark
        rows = spark.readStream.schema(
            "id BIGINT, name STRING, amount DOUBLE, paid BOOLEAN, at BIGINT, target STRING"
        )
        frame = rows.json(str(self._folder / "rows")).withColumns({"at": _timestamp()})
        frame = frame.selectExpr(*self._case.columns, "concat('k', id) AS key", "target AS cluster")
        writer = DynamicKafka.writer(frame).set_kafka_metadata_service(self._scene.service).set_stream_id(STREAM)
        writer = writer.set_options({"format": self._case.format, **self._options}).set_key_format("string")
        writer = writer.set_metadata_discovery_interval(50)
        stream = writer.write_stream().option("checkpointLocation", str(self._folder / "checkpoint"))
        return self._scene.started(stream.trigger(processingTime="0 seconds").start())

    def differences(self) -> dict[str, dict[str, list[Any]]]:
        """Between what was written and what the consumer of another project finds on each cluster."""
        return {name: difference(self._found(name), expected) for name, expected in self._expected.items()}

    def _found(self, name: str) -> Counter[Any]:
        """Waits for the markers of transactions, which Kafka writes after it has answered."""
        scene, count = self._scene, self._expected[name].total()

        def consumed() -> list[tuple[str, Any]] | None:
            registry = scene.registries[name]
            found = scene.foreign.consume(scene.clusters[name], registry, scene.topic, self._case.codec)
            return found if len(found) >= count else None

        records = until(f"{count} records on {name}", consumed, deadline_s=60)
        assert records is not None
        return Counter(self._shown(key, value) for key, value in records)

    @staticmethod
    def _shown(key: str, value: Any) -> str:
        return json.dumps([key, value], sort_keys=True, ensure_ascii=False)


def _timestamp() -> Any:
    from pyspark.sql import functions as F

    return F.timestamp_micros(F.col("at"))


@pytest.mark.parametrize("case", WRITES, ids=lambda case: case.format)
def test_write(scene: Scene, tmp_path: Path, case: Write) -> None:
    """Green enters, the query is stopped in the middle and restarted, and blue leaves."""
    writer = Writer(scene, case, tmp_path)
    scene.service.define(blue="active")
    writer.add(range(0, 6), "blue")
    query = writer.start()
    settle(query)
    scene.service.change(blue="active", green="active")
    writer.add(range(6, 14), "blue", "green")
    settle(query)
    writer.add(range(14, 22), "green", "blue")
    query.stop()
    query = writer.start()
    settle(query)
    scene.service.change(blue="removed", green="active")
    writer.add(range(22, 26), routed_to="green")
    settle(query)
    query.stop()
    assert writer.differences() == {"blue": NONE, "green": NONE}
