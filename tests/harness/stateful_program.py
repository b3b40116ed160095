"""A program with queries over Kafka that have state, or write exactly once, by Spark's own source or by this one.

    python -m tests.harness.stateful_program

It reads one JSON object a line: `source` (`kafka` or `dynamic-kafka`), its `options` without the topic,
`checkpoints`, a folder with one checkpoint for each query, and `streams`, a metadata file for what is written. It runs
each query with `AvailableNow` and writes a line with the rows of each.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dynamic_kafka import DynamicKafka
from pyspark.sql import DataFrame, SparkSession

from .jars import connector_jars

TOPICS = ("orders", "payments")
# The stream and the topic that is written to.
COPIES = "copies"
# How an option of each source names what is read.
_NAMED = {"kafka": "subscribe", "dynamic-kafka": "streamIds"}

Read = Callable[[str], DataFrame]


def _aggregation(read: Read) -> DataFrame:
    return read("orders").groupBy("key").count()


def _join(read: Read) -> DataFrame:
    payments = read("payments").withColumnRenamed("value", "payment")
    return read("orders").join(payments, "key").select("value", "payment")


def _distinct(read: Read) -> DataFrame:
    return read("orders").select("key").dropDuplicates(["key"])


def _copies(read: Read) -> DataFrame:
    return read("orders")


QUERIES = {
    "aggregation": (_aggregation, "update"),
    "join": (_join, "append"),
    "distinct": (_distinct, "append"),
    COPIES: (_copies, "append"),
}


def _run(spark: SparkSession, name: str, command: dict[str, Any]) -> list[list[Any]]:
    """Run one query over all available records. The copies are written to Kafka; the rows of others are returned."""

    def read(topic: str) -> DataFrame:
        reader = spark.readStream.format(command["source"]).options(**command["options"])
        frame = reader.option(_NAMED[command["source"]], topic).load()
        return frame.selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value")

    rows: list[list[Any]] = []
    query, mode = QUERIES[name]
    writer = query(read).writeStream.outputMode(mode).trigger(availableNow=True)
    if name == COPIES:
        written = {"streamId": COPIES, "deliveryGuarantee": "exactly-once"}
        services = {"metadataService": "file", "metadataService.path": command["streams"]}
        writer = writer.format("dynamic-kafka").options(**written, **services)
    else:
        writer = writer.foreachBatch(lambda frame, _: rows.extend(list(row) for row in frame.collect()))
    writer.option("checkpointLocation", str(Path(command["checkpoints"]) / name)).start().awaitTermination()
    return rows


def main() -> None:
    """Run commands until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "2")
    spark = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    for line in sys.stdin:
        command = json.loads(line)
        out.write(json.dumps({name: _run(spark, name, command) for name in QUERIES}) + "\n")
        out.flush()
    spark.stop()


if __name__ == "__main__":
    main()
