"""A query from the stream `orders` to `copies`, exactly once, while a producer writes and clusters change."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynamic_kafka import DynamicKafka, FileMetadataService, OffsetsInitializer
from dynamic_kafka_testkit import Cluster, Record
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.harness.jars import connector_jars
from tests.harness.metadata import MetadataFile

SECRET = "7d1-not-on-the-page"
NAME = "orders-to-copies"


def session() -> SparkSession:
    """A driver in this process."""
    builder = SparkSession.builder.master("local[2]").appName("orders-app").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "1")
    return DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()


class World:
    """Topics and metadata of both streams, on blue and green."""

    def __init__(self, folder: Path, brokers: dict[str, Cluster]) -> None:
        suffix = uuid.uuid4().hex[:8]
        self._orders, self._copies = f"orders-{suffix}", f"copies-{suffix}"
        self._folder = folder
        self._brokers = {name: brokers[name] for name in ("blue", "green")}
        self._file = MetadataFile(folder / "streams.json")
        for name, cluster in self._brokers.items():
            cluster.create_topic(self._orders, 4)
            cluster.create_topic(self._copies, 2)
            self._file.cluster(name, cluster.bootstrap_servers, ssl_key_password=SECRET)
        self._file.stream("copies", {"green": [self._copies]})
        self._numbers = 0

    def define(self, **states: str) -> None:
        """Set the clusters of `orders`, each with its state."""
        self._file.stream("orders", {})
        for name, state in states.items():
            self._file.set_entry("orders", name, [self._orders], state=state)
        self._file.write()

    def produce(self, name: str, records: int) -> None:
        """Write orders to a cluster."""
        begin, self._numbers = self._numbers, self._numbers + records
        self._brokers[name].produce(
            self._orders, [Record(n % 4, str(n), f"order {n}") for n in range(begin, begin + records)]
        )

    @contextmanager
    def producing(self, **records: int) -> Iterator[None]:
        """Write this number of orders to each cluster, twice a second."""
        ended = threading.Event()

        def run() -> None:
            while not ended.wait(0.5):
                for name, number in records.items():
                    self.produce(name, number)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def start(self, spark: SparkSession, per_batch: int = 100_000, **options: str) -> StreamingQuery:
        """Start the query."""
        common = {
            "metadataService": "file",
            "metadataService.path": str(self._file.path),
            "streamMetadataDiscoveryIntervalMs": "200",
            "ui": "true",
            "uiPort": "0",
        } | options
        reader = spark.readStream.format("dynamic-kafka").options(**common, streamIds="orders")
        frame = (
            reader.option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", per_batch)
            .load()
            .select("key", "value")
        )
        writer = frame.writeStream.format("dynamic-kafka").options(**common, streamId="copies")
        writer = writer.option("deliveryGuarantee", "exactly-once").queryName(NAME)
        checkpoint = str(self._folder / f"checkpoint-{uuid.uuid4().hex[:8]}")
        return writer.option("checkpointLocation", checkpoint).trigger(processingTime="1 second").start()

    def start_in_real_time(self, spark: SparkSession, name: str) -> StreamingQuery:
        """Start a query of the same streams in real-time mode."""
        service = FileMetadataService(self._file.path)
        reader = DynamicKafka.builder(spark).set_kafka_metadata_service(service).set_stream_ids("orders")
        frame = reader.set_starting_offsets(OffsetsInitializer.earliest()).load().select("key", "value")
        made = DynamicKafka.writer(frame).set_kafka_metadata_service(service).set_stream_id("copies")
        writer: Any = made.write_stream().outputMode("update").queryName(name)
        writer = writer.option("checkpointLocation", str(self._folder / f"checkpoint-{uuid.uuid4().hex[:8]}"))
        query: StreamingQuery = writer.trigger(realTime="5 minutes").start()
        return query
