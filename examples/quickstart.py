"""Counts the orders of every cluster, while clusters come and go.

    docker compose up --detach --wait
    python examples/quickstart.py

Edit examples/streams.yaml meanwhile: a cluster that you add is read, one that you take out is not read any more.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder, FileMetadataService, OffsetsInitializer
from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
# What `make jars` has built. Without it (`jars=None`) Spark fetches the published connector.
JARS = sorted(HERE.parent.glob("jvm/connector/target/jars/*.jar"))


def session(builder: SparkSession.Builder) -> SparkSession:
    """A session that has the connector."""
    return DynamicKafka.configure(builder, jars=JARS or None).getOrCreate()


def orders(spark: SparkSession, streams: str) -> DynamicKafkaReaderBuilder:
    """The stream `orders`, wherever the file says that it lives at the moment."""
    return (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_ids("orders")
        .set_starting_offsets(OffsetsInitializer.earliest())
        .set_metadata_discovery_interval("1s")
    )


def main() -> None:
    """Runs until it is interrupted."""
    streams = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "streams.yaml")
    spark = session(SparkSession.builder.appName("quickstart").config("spark.sql.shuffle.partitions", 2))
    counts = orders(spark, streams).load().groupBy("stream", "cluster").count()
    counts.writeStream.format("console").outputMode("complete").start().awaitTermination()


if __name__ == "__main__":
    main()
