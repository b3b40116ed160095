"""Real-time mode (since Spark 4.1) runs batches before it logs them."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from dynamic_kafka import DynamicKafka, FileMetadataService, OffsetsInitializer, _artifact
from dynamic_kafka_testkit import Cluster, Record, StoredRecord
from pyspark.sql import SparkSession

from tests.harness.jars import connector_jars
from tests.harness.orders import Orders
from tests.harness.waiting import until


@pytest.mark.parametrize(
    ("guarantee", "allowlist", "error"),
    [
        ("at-least-once", True, "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"),
        # Without Spark's list the sink refuses at the end of the first batch.
        ("exactly-once", False, "DYNAMIC_KAFKA.EXACTLY_ONCE_REFUSED"),
    ],
)
def test_writing_in_it_is_refused(
    orders: Orders, brokers: dict[str, Cluster], tmp_path: Path, guarantee: str, allowlist: bool, error: str
) -> None:
    blue = brokers["blue"]
    source = f"real-time-{uuid.uuid4().hex[:8]}"
    blue.create_topic(source, partitions=1)
    blue.produce(source, [Record(0, "k", "v")])
    written = _visible(brokers, orders)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.host", "localhost")
    builder = builder.config("spark.sql.streaming.realTimeMode.allowlistCheck", allowlist)
    spark = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    try:
        # A source that supports it.
        frame = spark.readStream.format("kafka").option("startingOffsets", "earliest")
        frame = frame.option("kafka.bootstrap.servers", blue.bootstrap_servers).option("subscribe", source)
        writer = frame.load().select("key", "value").writeStream.format("dynamic-kafka").outputMode("update")
        writer = writer.option("metadataService", "file").option("metadataService.path", str(orders.streams))
        writer = writer.option("streamId", "orders").option("deliveryGuarantee", guarantee)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        jvm: Any = spark._jvm
        # PySpark 4.1 has no method for this trigger.
        trigger = jvm.org.apache.spark.sql.streaming.Trigger.RealTime("5 seconds")
        writer._jwrite = writer._jwrite.trigger(trigger)
        with pytest.raises(Exception, match=error):
            writer.start().awaitTermination(60)
    finally:
        spark.stop()
    assert _visible(brokers, orders) == written


def test_a_stream_is_copied(orders: Orders, brokers: dict[str, Cluster], tmp_path: Path) -> None:
    streams, copies = orders.with_copies(brokers, tmp_path, "green")
    service = FileMetadataService(streams)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.host", "localhost")
    spark = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    try:
        read = DynamicKafka.builder(spark).set_kafka_metadata_service(service).set_stream_ids("orders")
        frame = read.set_starting_offsets(OffsetsInitializer.earliest()).load().select("value")
        write = DynamicKafka.writer(frame).set_kafka_metadata_service(service).set_stream_id("copies")
        writer = (
            write.write_stream().outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
        )
        if _artifact.spark_line() == "4.1":
            jvm: Any = spark._jvm
            writer._jwrite = writer._jwrite.trigger(
                jvm.org.apache.spark.sql.streaming.Trigger.RealTime("5 minutes")
            )
        else:
            # The stubs of 4.2.0 do not have the argument.
            typed: Any = writer
            writer = typed.trigger(realTime="5 minutes")
        query = writer.start()
        until("copies", lambda: len(brokers["green"].dump(copies)) >= len(orders.expected))
        DynamicKafka.stop(query)
        assert not query.isActive
        values = sorted(str(record.value) for record in brokers["green"].dump(copies))
        assert values == sorted(row[3] for row in orders.expected)
    finally:
        spark.stop()


def _visible(brokers: dict[str, Cluster], orders: Orders) -> list[StoredRecord]:
    return [r for name in ("blue", "green") for r in brokers[name].dump(orders.topic, committed_only=True)]
