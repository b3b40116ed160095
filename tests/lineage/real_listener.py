"""Datasets of streaming queries and batch jobs in the events of OpenLineage's listener: `make extra NAME=lineage`.

Not a name that pytest looks for, because `make test` would have to fetch 43 MB.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from dynamic_kafka import DynamicKafka, _artifact
from dynamic_kafka_testkit import Cluster, Record
from pyspark.sql import DataFrame, SparkSession

from tests.harness.jars import REPOSITORY, connector_jars
from tests.harness.metadata import MetadataFile
from tests.harness.waiting import until
from tests.lineage import OPENLINEAGE
from tests.lineage.events import Datasets, Event, Events

SECRET = "7d1-not-in-any-event"


def lineage_jar() -> Path:
    """The jar that is built for this line."""
    line = _artifact.spark_line()
    jars = (REPOSITORY / "jvm" / "lineage" / "target").glob(f"**/dynamic-kafka-openlineage-{line}_2.13-*.jar")
    # `publishM2` leaves more.
    found = [jar for jar in jars if not jar.stem.endswith(("-sources", "-javadoc"))]
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    return Events(tmp_path_factory.mktemp("lineage") / "events.ndjson")


@pytest.fixture(scope="module")
def spark(events: Events) -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.extraListeners", "io.openlineage.spark.agent.OpenLineageSparkListener")
    builder = builder.config("spark.openlineage.transport.type", "file")
    builder = builder.config("spark.openlineage.transport.location", str(events._path))
    builder = builder.config("spark.openlineage.facets.spark.logicalPlan.disabled", "false")
    jars = [*connector_jars(), lineage_jar()]
    session = DynamicKafka.configure(builder, extra_packages=OPENLINEAGE, jars=jars).getOrCreate()
    yield session
    session.stop()


class Streams:
    """The stream `orders`, and `copies` of it, on both clusters."""

    def __init__(self, folder: Path, brokers: dict[str, Cluster]) -> None:
        suffix = uuid.uuid4().hex[:8]
        self.orders, self.copies = f"orders-{suffix}", f"copies-{suffix}"
        self._brokers = {name: brokers[name] for name in ("blue", "green")}
        self._file = MetadataFile(folder / "streams.json")
        for name, cluster in self._brokers.items():
            cluster.create_topic(self.orders, 2)
            cluster.create_topic(self.copies, 1)
            # Kafka's clients try the addresses in this order.
            addresses = f"{cluster.bootstrap_servers},localhost:1"
            self._file.cluster(name, addresses, ssl_key_password=SECRET)
        self._file.stream("copies", {name: [self.copies] for name in self._brokers})
        self.options = {"metadataService": "file", "metadataService.path": str(self._file.path)}

    def define(self, *clusters: str) -> None:
        """Set the clusters of the stream `orders`."""
        self._file.stream("orders", {name: [self.orders] for name in clusters}).write()

    def produce(self, name: str, *ids: int) -> None:
        """Write orders to a cluster."""
        self._brokers[name].produce(self.orders, [Record(i % 2, str(i), f"order {i}") for i in ids])

    def on(self, topic: str, *clusters: str) -> Datasets:
        """The datasets of a topic on some clusters."""
        return frozenset((f"kafka://{self._brokers[name].bootstrap_servers}", topic) for name in clusters)


@pytest.fixture
def streams(brokers: dict[str, Cluster], tmp_path: Path) -> Streams:
    return Streams(tmp_path, brokers)


def test_each_batch_has_its_clusters_and_topics(
    spark: SparkSession, events: Events, streams: Streams, tmp_path: Path
) -> None:
    streams.define("blue")
    streams.produce("blue", 1, 2, 3)
    reader = spark.readStream.format("dynamic-kafka").options(**streams.options, streamIds="orders")
    # With the age of 0, `processAllAvailable` is exact.
    reader = reader.options(**{"streamMetadataDiscoveryIntervalMs": "200", "clusterSnapshotMaxAgeMs": "0"})
    # The column `cluster` is that of the order, so that each copy is on the same one.
    frame = reader.option("startingOffsets", "earliest").load().select("key", "value", "cluster")
    writer = frame.writeStream.format("dynamic-kafka").options(**streams.options, streamId="copies")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    inputs, outputs = streams.orders, streams.copies

    def wait_for(*clusters: str) -> None:
        end = str(sorted(clusters))
        until(f"a batch of {end}", lambda: _clusters(query.lastProgress) == sorted(clusters))
        query.processAllAvailable()

    try:
        query.processAllAvailable()
        wait_for("blue")
        streams.produce("green", 11, 12)
        streams.define("blue", "green")
        wait_for("blue", "green")
        # Orders were on green only: nothing is written to blue.
        streams.define("green")
        wait_for("green")
        streams.produce("green", 13)
        query.processAllAvailable()
    finally:
        query.stop()
    nothing: Datasets = frozenset()
    expected = [
        (streams.on(inputs, "blue"), streams.on(outputs, "blue")),
        (streams.on(inputs, "blue", "green"), streams.on(outputs, "green")),
        (streams.on(inputs, "green"), nothing),
        (streams.on(inputs, "green"), streams.on(outputs, "green")),
    ]
    until("the events", lambda: len(events.batches("STREAMING")) >= len(expected))
    assert events.batches("STREAMING") == expected


def test_a_batch_job_has_what_it_reads_and_writes(spark: SparkSession, events: Events, streams: Streams) -> None:
    streams.define("blue", "green")
    streams.produce("blue", 1)
    streams.produce("green", 2)
    read = spark.read.format("dynamic-kafka").options(**streams.options, streamIds="orders").load()
    writer = read.where("cluster = 'green'").select("key", "value", "cluster").write.format("dynamic-kafka")
    writer.mode("append").options(**streams.options, streamId="copies").save()
    expected = (streams.on(streams.orders, "blue", "green"), streams.on(streams.copies, "green"))
    until("the event", lambda: expected in events.batches("BATCH"))
    # No other dataset in any event of this job, as from a second one that knows tables.
    mine = {name for names in expected for name in names}
    for inputs, outputs in events.batches("BATCH") + events.batches("BATCH", "RUNNING"):
        if (inputs | outputs) & mine:
            assert inputs | outputs <= mine


def test_tables_of_a_catalog(spark: SparkSession, events: Events, streams: Streams) -> None:
    streams.define("blue")
    streams.produce("blue", 1)
    spark.conf.set("spark.sql.catalog.streams", "io.github.dynamickafka.DynamicKafkaCatalog")
    for name, value in streams.options.items():
        spark.conf.set(f"spark.sql.catalog.streams.{name}", value)
    spark.sql("INSERT INTO streams.copies (key, value, cluster) SELECT key, value, 'green' FROM streams.orders")
    expected = (streams.on(streams.orders, "blue"), streams.on(streams.copies, "green"))
    until("the event", lambda: expected in events.batches("BATCH"))


def test_foreach_batch(spark: SparkSession, events: Events, streams: Streams, tmp_path: Path) -> None:
    streams.define("blue")
    streams.produce("blue", 1)

    def copy(batch: DataFrame, _: int) -> None:
        batch.write.format("dynamic-kafka").mode("append").options(**streams.options, streamId="copies").save()

    frame = spark.readStream.format("dynamic-kafka").options(**streams.options, streamIds="orders").load()
    writer = frame.select("key", "value", "cluster").writeStream.foreachBatch(copy).trigger(availableNow=True)
    assert writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination(120)
    nothing: Datasets = frozenset()
    expected = {
        (streams.on(streams.orders, "blue"), nothing),
        (nothing, streams.on(streams.copies, "blue")),
    }

    def found() -> set[tuple[Datasets, Datasets]]:
        mine = {name for names in expected for both in names for name in both}
        all_ = {*events.batches("STREAMING"), *events.batches("BATCH")}
        return {both for both in all_ if (both[0] | both[1]) & mine}

    until("the events", lambda: len(found()) >= len(expected), 60)
    assert found() == expected


def test_facets_and_no_secret(spark: SparkSession, events: Events, streams: Streams) -> None:
    streams.define("blue")
    streams.produce("blue", 1)
    read = spark.read.format("dynamic-kafka").options(**streams.options, streamIds="orders")
    read = read.option("kafka.ssl.keystore.password", SECRET)
    read.load().selectExpr("key", "value").write.format("dynamic-kafka").mode("append").options(
        **streams.options, streamId="copies"
    ).save()

    def found() -> list[Event]:
        own = [event for event in events.of("COMPLETE") if streams.copies in str(event["outputs"])]
        return [dataset for event in own for dataset in (*event["inputs"], *event["outputs"])]

    until("the event", found)
    facets = {dataset["name"]: dataset["facets"] for dataset in found()}
    assert _of_stream(facets[streams.orders]) == ("blue", "orders")
    assert _of_stream(facets[streams.copies])[1] == "copies"
    columns = {name: [field["name"] for field in of["schema"]["fields"]] for name, of in facets.items()}
    assert columns[streams.copies] == ["key", "value"]
    # What the source has, whatever is selected.
    assert columns[streams.orders][:3] == ["key", "value", "topic"]
    # A part of it that is disabled by default has the plan as Spark prints it.
    assert "spark.logicalPlan" in events.text()
    assert SECRET not in events.text()


def _of_stream(facets: Event) -> tuple[str, str]:
    own = facets["dynamicKafka_topic"]
    return own["cluster"], own["stream"]


def _clusters(progress: object) -> list[str]:
    if progress is None:
        return []
    offset = json.loads(progress["sources"][0]["endOffset"])  # type: ignore[index]
    return sorted(offset["clusters"])
