"""Copies a stream from two clusters to a third one in real-time mode, and shows how long each record takes.

    python examples/real_time.py

It starts three local clusters, copies the orders of blue and green to archive, and prints the latency of each cluster
when the batch has ended, see docs/real-time.md. It requires Spark 4.2. Run `make jars` first.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from dynamic_kafka import DynamicKafka, FileMetadataService, OffsetsInitializer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "jvm" / "testkit" / "python"))

from dynamic_kafka_testkit import Cluster, Record, Testkit  # noqa: E402

from quickstart import session  # noqa: E402

ORDERS = ("blue", "green")
RECORDS = 50
TIMEOUT_S = 120


def copy(spark: SparkSession, streams: Path) -> StreamingQuery:
    """Start a query that copies the stream `orders` to the stream `archive`, in batches of five minutes."""
    service = FileMetadataService(streams)
    orders = (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(service)
        .set_stream_ids("orders")
        .set_starting_offsets(OffsetsInitializer.earliest())
        .load()
    )
    writer: Any = (
        DynamicKafka.writer(orders.select("key", "value"))
        .set_kafka_metadata_service(service)
        .set_stream_id("archive")
        .write_stream()
        .outputMode("update")
        .option("checkpointLocation", str(streams.parent / "checkpoint"))
    )
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()
    return query


def await_copies(archive: Cluster, count: int) -> None:
    """Wait until the topic has this number of records."""
    deadline = time.monotonic() + TIMEOUT_S
    while len(archive.dump("archive")) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the topic has fewer than {count} records after {TIMEOUT_S} s")
        time.sleep(0.1)


def main() -> None:
    """Run the query, and stop it when its batch has ended."""
    with tempfile.TemporaryDirectory() as folder, Testkit() as testkit:
        clusters = testkit.start_all(*ORDERS, "archive")
        *sources, archive = clusters
        document = {
            "version": 1,
            "clusters": {c.name: {"properties": {"bootstrap.servers": c.bootstrap_servers}} for c in clusters},
            "streams": {
                "orders": {"clusters": {name: {"topics": ["orders"]} for name in ORDERS}},
                "archive": {"clusters": {"archive": {"topics": ["archive"]}}},
            },
        }
        archive.create_topic("archive")
        for cluster in sources:
            cluster.create_topic("orders")
            cluster.produce("orders", [Record(0, None, "first")])
        streams = Path(folder, "streams.yaml")
        streams.write_text(yaml.safe_dump(document))
        spark = session(SparkSession.builder.appName("real-time").config("spark.ui.showConsoleProgress", False))
        query = copy(spark, streams)
        # The query runs: what is sent from here on is copied as it arrives.
        await_copies(archive, len(sources))
        for i in range(RECORDS):
            for cluster in sources:
                cluster.produce("orders", [Record(0, None, f"order {i}")])
        await_copies(archive, len(sources) * (1 + RECORDS))
        DynamicKafka.stop(query)
        metrics = query.recentProgress[-1].sources[0].metrics
        copies = len(archive.dump("archive"))
        spark.stop()
    print(f"{copies} records were copied")
    for name in ORDERS:
        p50, p99 = (metrics[f"latencyMs.{name}.{part}"] for part in ("p50", "p99"))
        print(f"{name}: 50 % within {p50} ms, 99 % within {p99} ms")


if __name__ == "__main__":
    main()
