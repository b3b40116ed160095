"""Counts the orders of every cluster, while clusters are added and removed.

    python examples/clusters.py start
    python examples/quickstart.py

Edit examples/streams.yaml meanwhile: a cluster that you add is read, and one that you remove is no longer read.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder, FileMetadataService, OffsetsInitializer
from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
# The jars of `make jars`. With `jars=None` Spark fetches the published connector.
JARS = sorted(HERE.parent.glob("jvm/connector/target/jars/*.jar"))


def session(builder: SparkSession.Builder) -> SparkSession:
    """A session that has the connector."""
    return DynamicKafka.configure(builder, jars=JARS or None).getOrCreate()


def orders(spark: SparkSession, streams: str) -> DynamicKafkaReaderBuilder:
    """The stream `orders`, on the clusters that the file currently defines."""
    return (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_ids("orders")
        .set_starting_offsets(OffsetsInitializer.earliest())
        .set_metadata_discovery_interval("1s")
    )


def main() -> None:
    """Run until interrupted."""
    streams = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "streams.yaml")
    spark = session(SparkSession.builder.appName("quickstart").config("spark.sql.shuffle.partitions", 2))
    # The page of the query is at http://127.0.0.1:4090/.
    reader = orders(spark, streams).set_option("ui", "true")
    counts = reader.load().groupBy("stream", "cluster").count()
    counts.writeStream.format("console").outputMode("complete").start().awaitTermination()


if __name__ == "__main__":
    main()
