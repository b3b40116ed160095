"""The time from a metadata change to the first record of the new cluster, and the effect on the other cluster."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmark.context import Cluster, Context
from benchmark.query import checkpoint, last_progress, progress, running, wait
from benchmark.sources import Member, StreamsFile, product
from benchmark.stats import Spread

STEP = "discovery"
POLL_MS = 1000
TABLE = "benchmark_discovery"


def run(bench: Context) -> None:
    """Add and remove a cluster with records repeatedly while a query runs."""
    steady, other = bench.near
    stays = bench.member(steady, "steady", "steady", records=0)
    comes = [
        bench.member(other, f"new-{i}", f"discovered-{i}", bench.sizes.scale_records)
        for i in range(bench.sizes.changes)
    ]
    file = StreamsFile(bench.folder / "discovery.yaml", [stays])
    moments = [_change(bench, file, stays, new, i) for i, new in enumerate(comes)]
    for moment in moments:
        bench.results.add(STEP, **moment)
    first = Spread.of([m["first_record_s"] for m in moments])
    bench.results.value("discovery.first", first.median)
    silence = {k: Spread.of([m[f"silence_{k}_s"] for m in moments]) for k in ("quiet", "added", "removed")}
    longer = max(silence["added"].median, silence["removed"].median) - silence["quiet"].median
    bench.results.value("discovery.silence", longer)
    bench.results.table(
        f"Discovery, poll every {POLL_MS} ms, s",
        ["what", "median (min-max)"],
        [
            ["metadata change to the first record of the new cluster", first.show()],
            ["... to the end of its batch", Spread.of([m["batch_end_s"] for m in moments]).show()],
            ["longest silence of the other cluster, no change", silence["quiet"].show()],
            ["... a cluster is added", silence["added"].show()],
            ["... a cluster is removed", silence["removed"].show()],
            ["longest silence of its producer", Spread.of([m["producer_silence_s"] for m in moments]).show()],
        ],
    )


def _change(bench: Context, file: StreamsFile, stays: Member, new: Member, number: int) -> dict[str, Any]:
    """Run one query: a quiet time, then a cluster is added at its own point of the poll's period, and removed."""
    spark = bench.spark
    frame = product(spark, file.path, discovery_ms=POLL_MS)
    # The time at which a task processes the row, as in a sink that writes row by row.
    seen = F.expr("reflect('java.lang.System', 'currentTimeMillis')").cast("long").alias("seen")
    produced = F.unix_millis("timestamp").alias("sent")
    writer = frame.select("cluster", produced, seen).writeStream.format("memory").queryName(TABLE)
    table = f"{TABLE}"
    rng = random.Random(number)
    quiet = bench.sizes.quiet_s
    spark.sql(f"DROP VIEW IF EXISTS {table}")
    with checkpoint() as folder, _Ticks(bench.near[0], stays.topic):
        with running(writer.option("checkpointLocation", folder).start()) as query:
            wait(query, lambda: spark.table(table).count() > 0, "the first record")
            # A fixed time, for the silence without a change, and so that the change falls on its point of the period.
            time.sleep(quiet + (number + rng.random()) / bench.sizes.changes * POLL_MS / 1e3)
            added = _at(lambda: file.write([stays, new]))
            wait(query, lambda: knows(query, new), "the new cluster")
            # Fixed times here and below: the silence of the other cluster after each change is measured over them.
            time.sleep(quiet)
            removed = _at(lambda: file.write([stays]))
            time.sleep(quiet)
            batches = progress(query)
        rows = spark.table(table).collect()
    first = min(row.seen for row in rows if row.cluster == new.cluster_id)
    steady = sorted({int(row.seen) for row in rows if row.cluster == stays.cluster_id})
    sent = sorted(int(row.sent) for row in rows if row.cluster == stays.cluster_id)
    window = quiet * 1e3
    result = {
        "first_record_s": (first - added) / 1e3,
        "batch_end_s": (_batch_end(batches, first) - added) / 1e3,
        "silence_quiet_s": _longest(steady, added - window, added) / 1e3,
        "silence_added_s": _longest(steady, added, added + window) / 1e3,
        "silence_removed_s": _longest(steady, removed, removed + window) / 1e3,
        # The silence of the producer, which the reader does not cause.
        "producer_silence_s": _longest(sent, sent[0], sent[-1]) / 1e3,
        "steady_records": len(steady),
    }
    bench.say(f"change {number}: first record after {result['first_record_s']:.2f} s")
    return result


def knows(query: StreamingQuery, member: Member) -> bool:
    """Read from the last progress, since a query of the table would slow the streaming query down."""
    sources = last_progress(query).get("sources", [{}])
    return f"pendingRecords.{member.cluster_id}" in (sources[0].get("metrics") or {})


def _at(change: Callable[[], None]) -> float:
    change()
    return time.time() * 1e3


def _longest(times: list[int], begin: float, end: float) -> float:
    """The longest time without a record in a window. A gap that extends beyond the window counts completely."""
    gaps = [b - a for a, b in pairwise(times) if b > begin and a < end]
    return float(max(gaps, default=end - begin))


def _batch_end(batches: list[dict[str, Any]], moment: float) -> float:
    """The end of the batch that was running at this moment."""
    for batch in batches:
        begin = _epoch_ms(batch["timestamp"])
        end = begin + float(batch["durationMs"]["triggerExecution"])
        if begin <= moment <= end:
            return end
    return moment


def _epoch_ms(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() * 1e3


class _Ticks:
    """Produces a record every few milliseconds to the cluster that is not removed."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(cluster, topic))

    def __enter__(self) -> _Ticks:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self, cluster: Cluster, topic: str) -> None:
        from dynamic_kafka_testkit import Record

        while not self._end.wait(0.005):
            cluster.produce(topic, [Record(0, None, "x")])
