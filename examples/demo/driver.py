"""The Spark driver of the demo, a separate process, so that it can be killed.

python -m demo.driver PROGRAM STREAMS_FILE BATCHES CHECKPOINT PROGRESS
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder, FileMetadataService
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import quickstart
from demo import batches, page, totals

# More than the producer writes, on a slow machine too, where a batch takes ten seconds: so the query catches up.
RECORDS_PER_BATCH = 5_000
# The second half begins with all orders of the first half.
RELAYED_PER_BATCH = 20_000
STOP_TIMEOUT_S = 5


def main(program: str, streams: str, folder: Path, checkpoint: str, progress: Path) -> None:
    """Run until the demo ends, in whatever way."""
    ended = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(ended,), daemon=True).start()
    spark = quickstart.session(
        SparkSession.builder.master("local[2]")
        .appName("demo")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        # A short-lived process: it starts faster.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        # The end of the demo waits for progress without records.
        .config("spark.sql.streaming.noDataProgressEventInterval", "500ms")
        # The default of 10 ms keeps a core busy while a query is idle.
        .config("spark.sql.streaming.pollingDelay", "100ms")
    )
    queries = PROGRAMS[program](spark, streams, folder, checkpoint)
    _report(queries, progress, ended)
    for query in queries:
        query.stop()
    spark.stop()


def _read(spark: SparkSession, streams: str, folder: Path, checkpoint: str) -> list[StreamingQuery]:
    """Deliver the orders."""
    return [_deliver(_decoded(quickstart.orders(spark, streams)), folder, checkpoint, RECORDS_PER_BATCH)]


def _decoded(source: DynamicKafkaReaderBuilder) -> DynamicKafkaReaderBuilder:
    """The builder with the fields of orders, and of shipments, as columns: the metadata has their format."""
    return page.shown(source.set_format("metadata"))


def _relay(spark: SparkSession, streams: str, folder: Path, checkpoint: str) -> list[StreamingQuery]:
    """Turn orders into shipments, exactly once, and deliver the records of the stream of shipments."""
    shipments = (
        _decoded(quickstart.orders(spark, streams))
        .set_option("maxOffsetsPerTrigger", RELAYED_PER_BATCH)
        .load()
        .select("id", "amount")
    )
    relay = (
        page.shown(DynamicKafka.writer(shipments))
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_id("shipments")
        .set_format("metadata")
        .set_key_format("json", "id")
        .set_delivery_guarantee("exactly-once")
        .set_option("streamMetadataDiscoveryIntervalMs", "1s")
        .start(f"{checkpoint}-relay", name="relay", trigger={"processingTime": "1 second"})
    )
    reader = _decoded(quickstart.orders(spark, streams)).set_stream_ids("shipments")
    reader.set_property("kafka.isolation.level", "read_committed")
    return [relay, _deliver(reader, folder, checkpoint, RELAYED_PER_BATCH)]


PROGRAMS = {"read": _read, "relay": _relay, "before": totals.before, "after": totals.after}


def _deliver(source: DynamicKafkaReaderBuilder, folder: Path, checkpoint: str, per_batch: int) -> StreamingQuery:
    return (
        source.set_option("maxOffsetsPerTrigger", per_batch)
        .load()
        .select("cluster", "partition", "offset", "id", "amount")
        .writeStream.foreachBatch(lambda batch, batch_id: _write(folder, batch, batch_id))
        .option("checkpointLocation", checkpoint)
        .queryName("reader")
        .trigger(processingTime="1 second")
        .start()
    )


def _write(folder: Path, batch: DataFrame, batch_id: int) -> None:
    batches.write(folder, batch_id, [tuple(row) for row in batch.collect()])


def _report(queries: list[StreamingQuery], file: Path, ended: threading.Event) -> None:
    """Write the progress of each batch as a line."""
    last: dict[str, str] = {}
    with file.open("w") as lines:
        while not ended.wait(0.1):
            for query in queries:
                if query.exception() is not None:
                    raise SystemExit(str(query.exception()))
                progress = query.lastProgress
                if progress is not None and progress.timestamp != last.get(query.name):
                    last[query.name] = progress.timestamp
                    lines.write(progress.json.replace("\n", " ") + "\n")
                    lines.flush()


def _wait_for_the_end(ended: threading.Event) -> None:
    """Wait for the end of stdin, whose other end the demo holds: it is closed even if the demo is killed."""
    sys.stdin.read()
    ended.set()
    # The time limit for stopping the queries. If they stop earlier, this process and its daemon thread end.
    time.sleep(STOP_TIMEOUT_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4], Path(sys.argv[5]))
