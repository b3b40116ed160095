"""A user's job: reads the stream `orders` in a batch and in a streaming query, and prints what came.

job.py STREAMS [PACKAGE ...]

Packages are what the session is built with, by `DynamicKafka.configure`; without them it is the one there is.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import DataFrame, SparkSession


def rows(frame: DataFrame) -> list[list[object]]:
    """Cluster, partition, offset and value of all records."""
    seen = frame.selectExpr("cluster", "partition", "offset", "CAST(value AS STRING)").collect()
    return sorted((list(row) for row in seen), key=str)


def report(spark: SparkSession, batch: DataFrame, stream: DataFrame) -> str:
    """Both, and the jars of the session, in one line."""
    query = stream.writeStream.format("memory").queryName("orders").trigger(availableNow=True).start()
    query.awaitTermination()
    jars = spark.conf.get("spark.jars") or ""
    names = sorted(jar.rpartition("/")[2] for jar in jars.split(","))
    return json.dumps({"batch": rows(batch), "stream": rows(spark.table("orders")), "jars": names})


def by_options(spark: SparkSession, streams: str) -> str:
    """As in every language."""
    options = {"metadataService": "file", "metadataService.path": streams, "streamIds": "orders"}
    batch = spark.read.format("dynamic-kafka").options(**options).load()
    return report(spark, batch, spark.readStream.format("dynamic-kafka").options(**options).load())


def by_builder(spark: SparkSession, streams: str) -> str:
    """As in Python."""
    from dynamic_kafka import DynamicKafka, FileMetadataService

    builder = DynamicKafka.builder(spark).set_kafka_metadata_service(FileMetadataService(streams))
    builder.set_stream_ids("orders")
    return report(spark, builder.load_batch(), builder.load())


def main(streams: str, *packages: str) -> None:
    """Run it."""
    builder = SparkSession.builder
    if packages:
        from dynamic_kafka import DynamicKafka

        # What has been there stays, and is resolved together with the connector.
        builder = DynamicKafka.configure(builder.config("spark.jars.packages", ",".join(packages)))
    print(by_builder(builder.getOrCreate(), streams))


if __name__ == "__main__":
    main(*sys.argv[1:])
