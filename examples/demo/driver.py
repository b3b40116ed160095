"""The Spark driver of the demo: a process of its own, so that it can be killed.

python -m demo.driver STREAMS_FILE BATCHES CHECKPOINT PROGRESS
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import quickstart
from demo import batches
from demo.verdict import Order

# More than the producer writes, so that the query catches up, and little enough to see it do so.
RECORDS_PER_BATCH = 500
STOP_TIMEOUT_S = 5


def main(streams: str, folder: Path, checkpoint: str, progress: Path) -> None:
    """Reads until the demo ends, in whatever way."""
    ended = threading.Event()
    threading.Thread(target=_wait_for_the_end, args=(ended,), daemon=True).start()
    spark = quickstart.session(
        SparkSession.builder.master("local[2]")
        .appName("demo")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        # For a short life: up sooner.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        # The end of the demo waits for word that there is nothing more.
        .config("spark.sql.streaming.noDataProgressEventInterval", "500ms")
    )
    query = (
        quickstart.orders(spark, streams)
        .set_option("maxOffsetsPerTrigger", RECORDS_PER_BATCH)
        .load()
        .selectExpr("cluster", "partition", "offset", "cast(cast(value as string) as bigint) as sequence")
        .writeStream.foreachBatch(lambda batch, batch_id: _write(folder, batch, batch_id))
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="1 second")
        .start()
    )
    _report(query, progress, ended)
    query.stop()
    spark.stop()


def _write(folder: Path, batch: DataFrame, batch_id: int) -> None:
    batches.write(folder, batch_id, [Order(*row) for row in batch.collect()])


def _report(query: StreamingQuery, file: Path, ended: threading.Event) -> None:
    """Write the progress of each batch as a line."""
    last = None
    with file.open("w") as lines:
        while not ended.wait(0.1):
            if query.exception() is not None:
                raise SystemExit(str(query.exception()))
            progress = query.lastProgress
            if progress is not None and progress.timestamp != last:
                last = progress.timestamp
                lines.write(progress.json.replace("\n", " ") + "\n")
                lines.flush()


def _wait_for_the_end(ended: threading.Event) -> None:
    """The demo holds the other end of stdin: it closes with it, even if the demo is killed."""
    sys.stdin.read()
    ended.set()
    time.sleep(STOP_TIMEOUT_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
