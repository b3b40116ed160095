"""Runs and measures queries."""

from __future__ import annotations

import gc
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmark.machine import cpu_seconds


@dataclass(frozen=True)
class Timing:
    """The durations of an AvailableNow query. `reading` is addBatch, from planning to the end of the last task."""

    records: int
    batches: int
    reading_s: float
    total_s: float
    cpu_s: float
    duration_ms: dict[str, int]

    def figures(self) -> dict[str, Any]:
        """The figures as they are stored."""
        return asdict(self)


def available_now(
    spark: SparkSession, source: Callable[[], DataFrame], expected: int, output_mode: str = "append"
) -> Timing:
    """Read all records to noop, and measure from building the frame to the end of the query.

    Raises:
        RuntimeError: if the number of records is not `expected`, since the figures would be wrong.
    """
    jvm = jvm_pid(spark)
    with checkpoint() as folder:
        cpu, begin = cpu_seconds(jvm), time.monotonic()
        query = noop(source(), folder).outputMode(output_mode).trigger(availableNow=True).start()
        query.awaitTermination()
        total = time.monotonic() - begin
        cpu = cpu_seconds(jvm) - cpu
    batches = [p for p in progress(query) if p["numInputRows"] > 0]
    records = sum(p["numInputRows"] for p in batches)
    if records != expected:
        raise RuntimeError(f"{records} records were read, not {expected}")
    durations = durations_ms(batches)
    return Timing(records, len(batches), durations["addBatch"] / 1e3, total, cpu, durations)


def available_now_in(spark: SparkSession, frame: Callable[[], DataFrame], folder: str) -> list[dict[str, Any]]:
    """Read all new records since this checkpoint to noop; return the progress of the batches with records."""
    query = noop(frame(), folder).trigger(availableNow=True).start()
    query.awaitTermination()
    return [p for p in progress(query) if p["numInputRows"] > 0]


def progress(query: StreamingQuery) -> list[dict[str, Any]]:
    """The progress that Spark still has.

    It is JSON, because PySpark's own objects look up a class in the JVM for each of their fields, which took half of
    the driver's CPU while a query was observed.
    """
    return [json.loads(p.json()) for p in _jvm_query(query).recentProgress()]


def last_progress(query: StreamingQuery) -> dict[str, Any]:
    """The latest progress, empty before the first one. Cheap enough for frequent calls."""
    found = _jvm_query(query).lastProgress()
    return {} if found is None else dict(json.loads(found.json()))


def last_batch(query: StreamingQuery) -> int:
    """The number of the last batch; -1 before the first one."""
    return int(last_progress(query).get("batchId", -1))


class RecordsRead:
    """Counts the records that a query has read. Each progress is looked at once, so that frequent calls are cheap."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._seen = 0
        self._records = 0

    def now(self) -> int:
        """The records of all batches that have ended."""
        found = _jvm_query(self._query).recentProgress()
        for i in range(self._seen, len(found)):
            self._records += int(found[i].numInputRows())
        self._seen = len(found)
        return self._records


def _jvm_query(query: StreamingQuery) -> Any:
    return query._jsq


def durations_ms(batches: list[dict[str, Any]]) -> dict[str, int]:
    """The sums over batches, by phase."""
    phases = sorted({phase for batch in batches for phase in batch["durationMs"]})
    return {phase: sum(batch["durationMs"].get(phase, 0) for batch in batches) for phase in phases}


def noop(frame: DataFrame, checkpoint_folder: str) -> Any:
    """A writer that discards all rows."""
    return frame.writeStream.format("noop").option("checkpointLocation", checkpoint_folder)


@contextmanager
def checkpoint() -> Iterator[str]:
    """A folder that is deleted afterwards."""
    folder = tempfile.mkdtemp(prefix="dynamic-kafka-bench-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running(query: StreamingQuery) -> Iterator[StreamingQuery]:
    """A query that is stopped afterwards."""
    try:
        yield query
    finally:
        query.stop()


def wait(query: StreamingQuery, done: Callable[[], bool], what: str, timeout_s: float = 120) -> None:
    """Wait until a condition holds.

    Raises:
        RuntimeError: after the time limit, or if the query has ended.
    """
    deadline = time.monotonic() + timeout_s
    while not done():
        if not query.isActive:
            raise RuntimeError(f"the query ended during the wait for {what}: {query.exception()}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {timeout_s:.0f} s for {what}")
        # Polling is necessary, because Spark does not notify Python of the end of a batch.
        time.sleep(0.03)


def collect_garbage(spark: SparkSession) -> None:
    """Collect garbage in both processes, so that no run pays for the previous one."""
    jvm(spark).System.gc()
    gc.collect()


def used_heap_mib(spark: SparkSession) -> float:
    """The used heap after a full collection: the lowest of three values, because running work counts too."""
    runtime = jvm(spark).java.lang.Runtime.getRuntime()
    lowest = float("inf")
    for _ in range(3):
        collect_garbage(spark)
        lowest = min(lowest, (runtime.totalMemory() - runtime.freeMemory()) / 2**20)
        # Garbage collection does not report which work of other threads it counted, so it is repeated after a pause.
        time.sleep(0.05)
    return lowest


def jvm(spark: SparkSession) -> Any:
    """The driver's JVM."""
    return spark.sparkContext._jvm


def jvm_pid(spark: SparkSession) -> int:
    """The id of the driver's process."""
    return int(jvm(spark).java.lang.ProcessHandle.current().pid())
