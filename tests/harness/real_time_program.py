"""A driver with one query in real-time mode, which copies the stream `orders` to the stream `copies`.

    python -m tests.harness.real_time_program STREAMS CHECKPOINT

It writes `started` to stdout, stops the query behind its batch when stdin is closed, and writes `stopped`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from dynamic_kafka import DynamicKafka, FileMetadataService, OffsetsInitializer, _artifact
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from .jars import connector_jars


def start(spark: SparkSession, streams: str, checkpoint: str) -> StreamingQuery:
    """Start the query, whose batches last five minutes."""
    service = FileMetadataService(streams)
    read = DynamicKafka.builder(spark).set_kafka_metadata_service(service).set_stream_ids("orders")
    frame = read.set_starting_offsets(OffsetsInitializer.earliest()).load().select("value")
    write = DynamicKafka.writer(frame).set_kafka_metadata_service(service).set_stream_id("copies")
    writer = write.write_stream().outputMode("update").option("checkpointLocation", checkpoint)
    return in_real_time(spark, writer).start()


def in_real_time(spark: SparkSession, writer: DataStreamWriter) -> DataStreamWriter:
    """The writer with the trigger of this mode."""
    if _artifact.spark_line() == "4.1":
        # PySpark 4.1 has no method for it.
        jvm: Any = spark._jvm
        writer._jwrite = writer._jwrite.trigger(jvm.org.apache.spark.sql.streaming.Trigger.RealTime("5 minutes"))
        return writer
    # The stubs of 4.2.0 do not have the argument.
    typed: Any = writer
    triggered: DataStreamWriter = typed.trigger(realTime="5 minutes")
    return triggered


def main() -> None:
    """Run until stdin is closed."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.host", "localhost").config("spark.driver.memory", "512m")
    spark = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    query = start(spark, sys.argv[1], sys.argv[2])
    print("started", file=out, flush=True)
    sys.stdin.read()
    DynamicKafka.stop(query)
    print("stopped", file=out, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
