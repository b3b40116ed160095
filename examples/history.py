"""Writes the stream `orders` to Parquet, and reads it back: first the files, and then Kafka.

    python examples/history.py archive STREAMS FOLDER
    python examples/history.py read STREAMS FOLDER

STREAMS is a metadata file. For the second step it has the `history` of the stream; docs/history.md explains the steps.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dynamic_kafka import DynamicKafka, FileMetadataService
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

HERE = Path(__file__).resolve().parent
# The jars of `make jars`. With `jars=None` Spark fetches the published connector.
JARS = sorted(HERE.parent.glob("jvm/connector/target/jars/*.jar"))


# The code of docs/history.md begins.
def orders(spark: SparkSession, streams: str) -> DataFrame:
    """The records of the stream, with their positions."""
    return (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_ids("orders")
        .set_option("includeHeaders", "true")
        .load()
    )


def archive(spark: SparkSession, streams: str, folder: str) -> StreamingQuery:
    """Writes what Kafka has, and ends. The next run writes what has been added."""
    return (
        orders(spark, streams)
        .writeStream.format("parquet")
        .option("path", f"{folder}/orders")
        .option("checkpointLocation", f"{folder}/checkpoint-of-archive")
        .trigger(availableNow=True)
        .start()
    )


# The code of docs/history.md ends.


def main() -> None:
    """Archive or read."""
    step, streams, folder = sys.argv[1:]
    spark = DynamicKafka.configure(SparkSession.builder.appName("history"), jars=JARS or None).getOrCreate()
    if step == "archive":
        archive(spark, streams, folder).awaitTermination()
        return
    query = (
        orders(spark, streams)
        .selectExpr("cluster", "partition", "offset", "CAST(value AS STRING) AS value")
        .writeStream.format("json")
        .option("path", f"{folder}/read")
        .option("checkpointLocation", f"{folder}/checkpoint-of-read")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
