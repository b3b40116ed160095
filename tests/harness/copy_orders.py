"""A user's program: copies the stream `orders` to the stream `copies`, exactly once, until it is stopped.

copy_orders.py STREAMS CHECKPOINT AT MARKER

A task hangs at the record AT: see TaskFaults. `CopyOrders.scala` is the same in Scala.
"""

from __future__ import annotations

import sys

from dynamic_kafka import DynamicKafka, FileMetadataService
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery


def start(spark: SparkSession, streams: str, checkpoint: str, at: str, marker: str) -> StreamingQuery:
    """Start the query."""
    metadata = FileMetadataService(streams)
    orders = (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(metadata)
        .set_stream_ids("orders")
        .set_option("maxRecordsPerPartition", 10)
        .load()
    )
    value = "string(value)"
    hit = f"java_method('io.github.dynamickafka.testkit.TaskFaults', 'once', {value}, '{at}', 'hang', '{marker}')"
    copies = orders.selectExpr("key", f"concat({value}, {hit}) AS value")
    return (
        DynamicKafka.writer(copies)
        .set_kafka_metadata_service(metadata)
        .set_stream_id("copies")
        .set_delivery_guarantee("exactly-once")
        .start(checkpoint)
    )


if __name__ == "__main__":
    start(SparkSession.builder.getOrCreate(), *sys.argv[1:]).awaitTermination()
