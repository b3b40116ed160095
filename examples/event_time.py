"""Counts records per minute over two clusters of different lag, and shows what is lost with one watermark.

    python examples/event_time.py

It starts two local clusters with a record per second to read: blue is 1 minute behind, green 6 minutes. The same query
runs without alignment and with `alignment=timestamp`, see docs/event-time.md. Run `make jars` first.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path

import yaml
from dynamic_kafka import DynamicKafka, FileMetadataService, OffsetsInitializer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "jvm" / "testkit" / "python"))

from dynamic_kafka_testkit import Record, Testkit  # noqa: E402

from quickstart import session  # noqa: E402

BEHIND_S = {"blue": 60, "green": 360}
END = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
ALIGNMENT = {"alignment": "timestamp", "alignmentMaxDrift": "10s"}
# The records for each mark of the picture.
PER_MARK = 10

Counts = Mapping[tuple[str, str], int]
"""Records by minute and cluster."""


def times(cluster: str) -> Iterable[int]:
    """The times of the records that are left to read, in epoch milliseconds."""
    end = int(END.timestamp()) * 1000
    return range(end - BEHIND_S[cluster] * 1000, end, 1000)


def produced() -> Counts:
    """What a query should count."""
    minutes = [(ms, cluster) for cluster in BEHIND_S for ms in times(cluster)]
    return Counter(
        (datetime.fromtimestamp(ms / 1000, timezone.utc).strftime("%H:%M"), cluster) for ms, cluster in minutes
    )


def counted(spark: SparkSession, streams: Path, name: str, options: Mapping[str, str]) -> Counts:
    """What a query counts that reads both clusters as one stream."""
    builder = (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_ids("orders")
        .set_starting_offsets(OffsetsInitializer.earliest())
        .set_option("maxOffsetsPerTrigger", "60")
        .set_options(options)
    )
    orders = builder.load().withWatermark("timestamp", "10 seconds")
    query = (
        orders.groupBy(F.window("timestamp", "1 minute"), "cluster")
        .count()
        .writeStream.format("memory")
        .queryName(name)
        .outputMode("update")
        .option("checkpointLocation", str(streams.parent / name))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    rows = spark.table(name).groupBy(F.date_format("window.start", "HH:mm").alias("minute"), "cluster")
    return {(row.minute, row.cluster): row.n for row in rows.agg(F.max("count").alias("n")).collect()}


def picture(expected: Counts, results: Mapping[str, Counts]) -> str:
    """A line for each minute: `#` is counted, `.` is lost."""

    def bar(minute: str, cluster: str, found: Counts) -> str:
        full, some = expected.get((minute, cluster), 0) // PER_MARK, found.get((minute, cluster), 0)
        return ("#" * (some // PER_MARK)).ljust(full, ".").ljust(60 // PER_MARK + 2)

    def total(cluster: str, found: Counts) -> int:
        return sum(n for (_, name), n in found.items() if name == cluster)

    width = 60 // PER_MARK + 2
    columns = [(name, cluster) for name in results for cluster in BEHIND_S]
    lines = ["         " + "   ".join(name.ljust(2 * width) for name in results)]
    lines.append("minute   " + "".join(_cell(cluster, i, width) for i, (_, cluster) in enumerate(columns)))
    for minute in sorted({minute for minute, _ in expected}):
        bars = [bar(minute, cluster, results[name]) for name, cluster in columns]
        lines.append(f"{minute}    " + "".join(_cell(text, i, width) for i, text in enumerate(bars)))
    for what, of in (("counted", total), ("lost", lambda c, found: total(c, expected) - total(c, found))):
        cells = [str(of(cluster, results[name])) for name, cluster in columns]
        lines.append(what.ljust(9) + "".join(_cell(text, i, width) for i, text in enumerate(cells)))
    return "\n".join(line.rstrip() for line in lines)


def _cell(text: str, column: int, width: int) -> str:
    # A gap after the clusters of a query.
    return text.ljust(width) + ("   " if column % 2 else "")


def main() -> None:
    """Run both queries."""
    with tempfile.TemporaryDirectory() as folder, Testkit() as testkit:
        clusters = testkit.start_all(*BEHIND_S)
        document = {
            "version": 1,
            "clusters": {c.name: {"properties": {"bootstrap.servers": c.bootstrap_servers}} for c in clusters},
            "streams": {"orders": {"clusters": {c.name: {"topics": ["orders"]} for c in clusters}}},
        }
        for cluster in clusters:
            cluster.create_topic("orders")
            cluster.produce("orders", [Record(0, None, "order", timestamp=ms) for ms in times(cluster.name)])
        streams = Path(folder, "streams.yaml")
        streams.write_text(yaml.safe_dump(document))
        builder = SparkSession.builder.appName("event-time").config("spark.sql.session.timeZone", "UTC")
        builder = builder.config("spark.sql.shuffle.partitions", 1).config("spark.ui.showConsoleProgress", False)
        spark = session(builder)
        results = {
            "without alignment": counted(spark, streams, "plain", {}),
            "aligned": counted(spark, streams, "aligned", ALIGNMENT),
        }
        spark.stop()
    print(picture(produced(), results))


if __name__ == "__main__":
    main()
