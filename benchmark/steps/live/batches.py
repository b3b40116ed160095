"""The time from a record to the end of the micro-batch that reads it, and where it goes."""

from __future__ import annotations

import json
import random
import time
from datetime import datetime
from typing import Any

from benchmark.context import Context, Record
from benchmark.query import checkpoint, last_batch, noop, progress, running, wait
from benchmark.sources import StreamsFile, product
from benchmark.stats import Spread
from benchmark.targets import TARGETS

STEP = "latency"
PHASES = (
    "latestOffset",
    "walCommit",
    "getBatch",
    "queryPlanning",
    "addBatch",
    "commitOffsets",
    "triggerExecution",
)

Sent = tuple[str, str, int, int, float]
"""Cluster id, topic, partition, offset, and when the record was sent, in seconds since the epoch."""


def run(bench: Context) -> None:
    """Send single records at random times to a query with the default trigger."""
    rows = []
    for count in (1, bench.sizes.latency_clusters):
        times, batches = _measure(bench, count)
        spread = Spread.of(times)
        phases = [Spread.of([b["durationMs"].get(p, 0) for b in batches]).show(0) for p in PHASES]
        if f"latency.{count}" in TARGETS:
            bench.results.value(f"latency.{count}", spread.median)
        bench.say(f"{count} cluster id(s): {spread.show(0)} ms from a record to the end of its batch")
        rows.append([str(count), spread.show(0), *phases])
    bench.results.table(
        "A record to the end of its micro-batch, default trigger, and the durations of these batches, ms. A record "
        "waits for the end of the batch that is running when it arrives",
        ["cluster ids", "record to batch end", *PHASES],
        rows,
    )


def _measure(bench: Context, count: int) -> tuple[list[float], list[dict[str, Any]]]:
    members = bench.members(bench.near, "latency", count, records=0)
    clusters = {c.bootstrap_servers: c for c in bench.near}
    file = StreamsFile(bench.folder / f"latency-{count}.yaml", members)
    rng = random.Random(count)
    sent: list[Sent] = []
    warm = bench.sizes.latency_records // 4
    with checkpoint() as folder, running(noop(product(bench.spark, file.path), folder).start()) as query:
        wait(query, lambda: last_batch(query) >= 0, "the first batch")
        for i in range(warm + bench.sizes.latency_records):
            # A random time, so that records arrive at any moment of a batch.
            time.sleep(rng.uniform(0.02, 0.2))
            member = rng.choice(members)
            now = time.time()
            partition = rng.randrange(bench.sizes.partitions)
            ((_, offset),) = clusters[member.bootstrap_servers].produce(
                member.topic, [Record(partition, None, "x")]
            )
            if i >= warm:
                sent.append((member.cluster_id, member.topic, partition, offset, now))
        last = sent[-1]
        wait(query, lambda: any(_has(b, last) for b in progress(query)[-5:]), "the last record")
        batches = [b for b in progress(query) if b["numInputRows"] > 0]
    times = []
    for record in sent:
        batch = next(b for b in batches if _has(b, record))
        times.append((_end(batch) - record[-1]) * 1e3)
        bench.results.add(STEP, mode="micro-batch", clusters=count, ms=round(times[-1], 1), batch=batch["batchId"])
    for batch in batches:
        bench.results.add(
            STEP, mode="micro-batch", clusters=count, batch=batch["batchId"], duration_ms=batch["durationMs"]
        )
    return times, [b for b in batches if _has(b, sent[0])]


def _has(batch: dict[str, Any], record: Sent) -> bool:
    """Whether this batch or an earlier one has read the record."""
    end = batch["sources"][0]["endOffset"]
    found = json.loads(end) if isinstance(end, str) else end or {}
    cluster, topic, partition, offset, _ = record
    return int(found.get("clusters", {}).get(cluster, {}).get(topic, {}).get(str(partition), 0)) > offset


def _end(batch: dict[str, Any]) -> float:
    begin = datetime.fromisoformat(batch["timestamp"].replace("Z", "+00:00")).timestamp()
    return begin + float(batch["durationMs"]["triggerExecution"]) / 1e3
