"""Queries with a watermark, and how many records of each cluster their results contain."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmark.context import Cluster, Context, Record
from benchmark.sources import Member, StreamsFile, product

STEP = "event-time"
DELAY_S = 10
END_MS = 1_767_225_600_000
"""The time of the last records, at the border of a window. It is fixed, so that the counts of each run are the same."""

Source = Callable[[], DataFrame]


@dataclass(frozen=True)
class Kind:
    """A kind of query: each record is one row of its result, or counts as one, unless it is dropped.

    `counted` are the records by cluster. `reads` is how often the query reads its source.
    """

    name: str
    frame: Callable[[Source], DataFrame]
    mode: str
    counted: Callable[[DataFrame], DataFrame]
    reads: int = 1


def _windows(source: Source) -> DataFrame:
    return source().groupBy(F.window("timestamp", "1 minute"), "cluster").agg(F.count("*").alias("n"))


def _newest_counts(rows: DataFrame) -> DataFrame:
    newest = rows.groupBy("window", "cluster").agg(F.max("n").alias("n"))
    return newest.groupBy("cluster").agg(F.sum("n").alias("n"))


def _without_duplicates(source: Source) -> DataFrame:
    return source().dropDuplicatesWithinWatermark(["cluster", "value"])


def _join(source: Source) -> DataFrame:
    same = F.expr(
        "l.cluster = r.cluster AND l.value = r.value"
        " AND r.timestamp BETWEEN l.timestamp AND l.timestamp + INTERVAL 5 SECONDS"
    )
    return source().alias("l").join(source().alias("r"), same).select("l.cluster")


def _rows(rows: DataFrame) -> DataFrame:
    return rows.groupBy("cluster").agg(F.count("*").alias("n"))


WINDOWS = Kind("windows of a minute", _windows, "update", _newest_counts)
KINDS = (
    WINDOWS,
    Kind("stream-stream join", _join, "append", _rows, reads=2),
    Kind("dropDuplicatesWithinWatermark", _without_duplicates, "append", _rows),
)


@dataclass(frozen=True)
class Way:
    """How clusters are read: as one source with these options, or as a source with a watermark for each cluster."""

    name: str
    options: Mapping[str, str]
    is_union: bool = False

    @property
    def is_aligned(self) -> bool:
        return "alignment" in self.options


def aligned(drift_s: int, **options: str) -> dict[str, str]:
    """The options of alignment."""
    return {"alignment": "timestamp", "alignmentMaxDrift": f"{drift_s}s", **options}


def ways(options: Mapping[str, str], **alignment: str) -> list[Way]:
    """The ways that are compared. All of them have `options`, one of them has options of alignment too."""
    return [
        Way("one source", options),
        Way("one source, aligned", {**options, **aligned(DELAY_S, **alignment)}),
        Way("a source for each cluster", options, is_union=True),
    ]


@dataclass
class Streams:
    """The metadata of the clusters as one stream, and as a stream for each of them, which may be empty."""

    folder: Path
    names: Sequence[str]

    def write(self, members: Sequence[Member]) -> None:
        """Replace the metadata; the streams of clusters that are not among `members` become empty."""
        self._all = StreamsFile(self.folder / f"{STEP}.yaml", members)
        self._each = [
            StreamsFile(self.folder / f"{STEP}-{name}.yaml", [m for m in members if m.cluster_id == name])
            for name in self.names
        ]

    def source(self, spark: SparkSession, way: Way, delay_s: int = DELAY_S) -> Source:
        """The source of a query, which is read this way."""

        def read(file: StreamsFile) -> DataFrame:
            frame = product(spark, file.path, discovery_ms=200, options=way.options)
            return frame.withWatermark("timestamp", f"{delay_s} seconds")

        files = self._each if way.is_union else [self._all]
        return lambda: reduce(DataFrame.union, [read(file) for file in files])


@dataclass(frozen=True)
class Result:
    """A query whose rows are kept in memory."""

    spark: SparkSession
    kind: Kind
    table: str
    query: StreamingQuery

    def counted(self) -> dict[str, int]:
        """How many records of each cluster the result contains."""
        rows = self.kind.counted(self.spark.table(self.table)).collect()
        return {str(row["cluster"]): int(row["n"]) for row in rows}


def start(spark: SparkSession, kind: Kind, source: Source, folder: str, **trigger: Any) -> Result:
    """Start a query; `trigger` as in Spark."""
    table = f"event_time_{uuid.uuid4().hex}"
    writer = kind.frame(source).writeStream.format("memory").queryName(table).outputMode(kind.mode)
    query = writer.option("checkpointLocation", f"{folder}/{table}").trigger(**trigger).start()
    return Result(spark, kind, table, query)


@contextmanager
def few_partitions(spark: SparkSession) -> Iterator[None]:
    """Two tasks with state, as many as there are cores."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, "2")
    try:
        yield
    finally:
        spark.conf.set(name, str(before))


def records(begin_s: int, end_s: int) -> list[Record]:
    """A record per second; seconds are counted back from the end."""
    return [
        Record(0, None, f"{begin_s}-{second}", timestamp=END_MS - second * 1000)
        for second in range(begin_s - 1, end_s - 1, -1)
    ]


def timed(bench: Context, cluster: Cluster, cluster_id: str, begin_s: int, end_s: int = 0) -> Member:
    """A cluster id with a topic of one partition that has these records."""
    topic = f"{STEP}-{cluster_id}"
    if (cluster.name, topic) not in bench.topics:
        cluster.create_topic(topic)
        cluster.produce(topic, records(begin_s, end_s))
        bench.topics.add((cluster.name, topic))
    return Member(cluster_id, cluster.bootstrap_servers, topic)


def shown(counted: Mapping[str, int], produced: Mapping[str, int]) -> list[str]:
    """For each cluster, the records in the result, and those that are lost."""
    cells = []
    for name, n in produced.items():
        lost = n - counted.get(name, 0)
        cells.append(f"{n - lost:,} of {n:,}" + (f", {lost:,} lost" if lost else ""))
    return cells


def lost(counted: Mapping[str, int], produced: Mapping[str, int]) -> int:
    """The records that the result of a query does not contain."""
    return sum(produced.values()) - sum(counted.values())


def minutes(seconds: int) -> str:
    """A lag as text."""
    return f"{seconds // 60} min" if seconds >= 60 else f"{seconds} s"
