"""A user's job that copies the stream `orders` to the stream `copies`.

python -m tests.harness.copies STREAMS CHECKPOINT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from dynamic_kafka import DynamicKafka, DynamicKafkaWriterBuilder, FileMetadataService
from pyspark.sql import DataFrame, SparkSession

from .jars import connector_jars


def read(spark: SparkSession, streams: str) -> Any:
    """The builder that reads `orders`."""
    builder = DynamicKafka.builder(spark).set_kafka_metadata_service(FileMetadataService(streams))
    # So that processAllAvailable is exact.
    return builder.set_stream_ids("orders").set_option("clusterSnapshotMaxAgeMs", 0)


def writer(frame: DataFrame, streams: str) -> DynamicKafkaWriterBuilder:
    """The writer to `copies`; values have the name of their cluster as a prefix."""
    copies = frame.selectExpr("key", "concat(cluster, ':', string(value)) AS value", "topic AS origin")
    return (
        DynamicKafka.writer(copies)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_id("copies")
        .set_delivery_guarantee("exactly-once")
        .set_transactional_id_prefix("copies-job")
        .set_cluster_routing("all")
        .set_partitioner("round-robin")
        .set_property("compression.type", "lz4")
        .set_cluster_property("blue", "linger.ms", 1)
        .set_metadata_discovery_interval("1s")
    )


def stream(frame: DataFrame, streams: str, checkpoint: str) -> None:
    """Copy the records that exist now, with a trigger and a query name."""
    query = writer(frame, streams).start(checkpoint, name="copies", trigger={"availableNow": True})
    assert query.name == "copies" and query.awaitTermination(240)


def main(streams: str, checkpoint: str) -> None:
    """A batch job, then a query that is started, stopped and started again."""
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = session.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "1")
    spark = DynamicKafka.configure(session, jars=connector_jars()).getOrCreate()
    source = read(spark, streams)
    writer(source.load_batch(), streams).set_option("checkpointLocation", f"{checkpoint}-of-jobs").save()
    query = writer(source.load(), streams).start(Path(checkpoint))
    query.processAllAvailable()
    query.stop()
    stream(source.load(), streams, checkpoint)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
