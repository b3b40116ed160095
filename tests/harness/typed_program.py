"""A user's program that uses everything of the builders that type checkers compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder, FileMetadataService, OffsetsInitializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery


def at_end(cluster: str, topic: str, partitions: Sequence[int]) -> Mapping[int, int]:
    """Where reading ends."""
    return dict.fromkeys(partitions, -1)


def reader(spark: SparkSession, streams: str) -> DynamicKafkaReaderBuilder:
    """What is read."""
    return (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(streams, ttl="1s"))
        .set_stream_ids("orders")
        .set_starting_offsets("earliest")
        .set_ending_offsets(OffsetsInitializer.of(at_end))
        .set_format("json")
        .set_key_format("string", "id")
        .set_schema("id STRING, amount BIGINT")
        .set_change_data("upsert")
        .set_parse_errors("keep")
        .set_metadata_columns("cluster")
        .set_option("maxOffsetsPerTrigger", 1000)
        .set_options({"json.timestampFormat": "yyyy-MM-dd", "failOnDataLoss": True})
        .set_property("isolation.level", "read_committed")
        .set_cluster_property("blue", "maxOffsetsPerTrigger", 100)
    )


def copy(frame: DataFrame, streams: str, checkpoint: str) -> StreamingQuery:
    """Writes it."""
    writer = (
        DynamicKafka.writer(frame)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_id("copies")
        .set_format("json")
        .set_key_format("string", "id")
        .set_cluster_routing("first")
        .set_write_failover("next")
        .set_cluster_distribution("off")
        .set_delivery_guarantee("at-least-once")
        .set_partitioner("round-robin")
        .set_option("commitTimeoutMs", "30s")
        .set_property("linger.ms", 5)
    )
    return writer.start(checkpoint, name="copies", trigger={"availableNow": True})
