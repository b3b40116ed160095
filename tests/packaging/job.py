"""A user's job: reads the stream `orders` with a batch query and a streaming query, and prints the records.

job.py STREAMS [PACKAGE ...]

With packages, the job creates the session with them and `DynamicKafka.configure`; otherwise it uses the existing one.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import DataFrame, SparkSession


def rows(frame: DataFrame) -> list[list[object]]:
    """The cluster, partition, offset and value of all records."""
    seen = frame.selectExpr("cluster", "partition", "offset", "CAST(value AS STRING)").collect()
    return sorted((list(row) for row in seen), key=str)


def report(spark: SparkSession, batch: DataFrame, stream: DataFrame) -> str:
    """Print the results of both queries and the jars of the session in one line."""
    query = stream.writeStream.format("memory").queryName("orders").trigger(availableNow=True).start()
    query.awaitTermination()
    jars = spark.conf.get("spark.jars") or ""
    names = sorted(jar.rpartition("/")[2] for jar in jars.split(","))
    return json.dumps({"batch": rows(batch), "stream": rows(spark.table("orders")), "jars": names})


def by_options(spark: SparkSession, streams: str) -> str:
    """Read with options, as in every language."""
    options = {"metadataService": "file", "metadataService.path": streams, "streamIds": "orders"}
    batch = spark.read.format("dynamic-kafka").options(**options).load()
    return report(spark, batch, spark.readStream.format("dynamic-kafka").options(**options).load())


def by_builder(spark: SparkSession, streams: str) -> str:
    """Read with the Python builder."""
    from dynamic_kafka import DynamicKafka, FileMetadataService

    builder = DynamicKafka.builder(spark).set_kafka_metadata_service(FileMetadataService(streams))
    builder.set_stream_ids("orders")
    return report(spark, builder.load_batch(), builder.load())


def main(streams: str, *packages: str) -> None:
    """Run the job."""
    builder = SparkSession.builder
    if packages:
        from dynamic_kafka import DynamicKafka

        # The builder's packages are kept, and resolved together with the connector.
        builder = DynamicKafka.configure(builder.config("spark.jars.packages", ",".join(packages)))
    print(by_builder(builder.getOrCreate(), streams))


if __name__ == "__main__":
    main(*sys.argv[1:])
