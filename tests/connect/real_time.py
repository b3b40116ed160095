"""A client of a Connect server: a query in real-time mode.

python -m tests.connect.real_time URL STREAMS FOLDER BOOTSTRAP TOPIC RECORDS

The query copies the stream `orders` to the topic until it has this number of records, and is stopped inside its batch.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from dynamic_kafka import DynamicKafka, FileMetadataService, OffsetsInitializer
from pyspark.sql import SparkSession

from tests.harness.waiting import until


def main(url: str, streams: str, folder: str, bootstrap: str, topic: str, records: str) -> None:
    """Print the values of the topic."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    orders = (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_ids("orders")
        .set_starting_offsets(OffsetsInitializer.earliest())
        # The server has two cores, and a task has one as long as the query runs.
        .set_option("realTimeTasks", 1)
        .load()
    )
    # The stubs of 4.2.0 do not have the argument of the trigger.
    writer: Any = orders.select("value").writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    writer = writer.option("topic", topic).option("checkpointLocation", f"{folder}/checkpoint")
    query = writer.outputMode("update").trigger(realTime="5 minutes").start()
    written = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)

    def copies() -> list[str]:
        assert query.exception() is None
        return sorted(row[0] for row in written.load().selectExpr("string(value)").collect())

    until("the copies", lambda: len(copies()) >= int(records))
    ended = len(query.recentProgress)
    DynamicKafka.stop(query)
    found = {"session": type(spark).__module__, "copies": copies(), "ended": ended, "active": query.isActive}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
