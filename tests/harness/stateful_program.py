"""A program with queries over Kafka that have state, or write exactly once, by Spark's own source or by this one.

    python -m tests.harness.stateful_program <jar of KeyCounts.scala>

It reads one JSON object a line: `source` (`kafka` or `dynamic-kafka`), its `options` without the topic,
`checkpoints`, a folder with one checkpoint for each query, `streams`, a metadata file for what is written, and
`queries`, the names of those that run. It runs each with `AvailableNow` and writes a line with the rows of each; of one
that fails, the error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas  # type: ignore[import-untyped]
from dynamic_kafka import DynamicKafka
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.group import GroupedData
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from .jars import connector_jars

TOPICS = ("orders", "payments")
# The stream and the topic that is written to.
COPIES = "copies"
# How an option of each source names what is read.
_NAMED = {"kafka": "subscribe", "dynamic-kafka": "streamIds"}

# The only state store that `transformWithState` supports.
_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_TRANSFORMED = ("transformed", "transformed-python")
# Since Spark 4.1. Before, only `transformWithStateInPandas` exists.
_OF_ROWS = hasattr(GroupedData, "transformWithState")

Read = Callable[[str], DataFrame]


class _KeyCounts(StatefulProcessor):
    """Counts the records of each key, as `KeyCounts.scala` does."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "count BIGINT")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        records = sum(1 if _OF_ROWS else len(chunk) for chunk in rows)
        (before,) = self._count.get() or (0,)
        self._count.update((before + records,))
        counted = {"key": key[0], "count": before + records}
        yield Row(**counted) if _OF_ROWS else pandas.DataFrame([counted])

    def close(self) -> None:
        pass


def _aggregation(read: Read) -> DataFrame:
    return read("orders").groupBy("key").count()


def _join(read: Read) -> DataFrame:
    payments = read("payments").withColumnRenamed("value", "payment")
    return read("orders").join(payments, "key").select("value", "payment")


def _distinct(read: Read) -> DataFrame:
    return read("orders").select("key").dropDuplicates(["key"])


def _transformed(read: Read) -> DataFrame:
    records = read("orders")
    jvm: Any = records.sparkSession.sparkContext._jvm
    return DataFrame(jvm.org.apache.spark.sql.keycounts.KeyCounts.of(records._jdf), records.sparkSession)


def _transformed_python(read: Read) -> DataFrame:
    grouped = read("orders").groupBy("key")
    transform = grouped.transformWithState if _OF_ROWS else grouped.transformWithStateInPandas
    return transform(_KeyCounts(), "key STRING, count BIGINT", "Update", "None")


def _copies(read: Read) -> DataFrame:
    return read("orders")


QUERIES = {
    "aggregation": (_aggregation, "update"),
    "join": (_join, "append"),
    "distinct": (_distinct, "append"),
    "transformed": (_transformed, "update"),
    "transformed-python": (_transformed_python, "update"),
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
    writer = writer.option("checkpointLocation", str(Path(command["checkpoints"]) / name))
    while not _ended(spark, writer, transformed=name in _TRANSFORMED):
        pass
    return rows


def _ended(spark: SparkSession, writer: DataStreamWriter, transformed: bool) -> bool:
    """Run a query to its end. False if it has to start again, because Spark waits only ten seconds for Python."""
    if transformed:
        spark.conf.set(_STORE, _ROCKS_DB)
    query = writer.start()
    spark.conf.unset(_STORE)
    try:
        query.awaitTermination()
    except StreamingQueryException as e:
        # The worker fails before the batch.
        if "Python worker failed to connect back" not in str(e):
            raise
        return False
    finally:
        # The sink ends after the query, and writes to the checkpoint then.
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    return True


def main() -> None:
    """Run commands until the input ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # For the workers of Python.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "2")
    spark = DynamicKafka.configure(builder, jars=[*connector_jars(), Path(sys.argv[1])]).getOrCreate()

    def rows(name: str, command: dict[str, Any]) -> list[list[Any]]:
        try:
            return _run(spark, name, command)
        except StreamingQueryException as e:
            return [["failed", str(e)]]

    for line in sys.stdin:
        command = json.loads(line)
        out.write(json.dumps({name: rows(name, command) for name in command["queries"]}) + "\n")
        out.flush()
    spark.stop()


if __name__ == "__main__":
    main()
