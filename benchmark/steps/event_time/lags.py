"""Two clusters of different lag: the records that queries with a watermark lose."""

from __future__ import annotations

import time

from benchmark.context import Context
from benchmark.query import checkpoint, progress
from benchmark.steps.event_time.queries import (
    DELAY_S,
    KINDS,
    STEP,
    Kind,
    Streams,
    Way,
    few_partitions,
    lost,
    minutes,
    shown,
    start,
    timed,
    ways,
)


def run(bench: Context) -> None:
    """Read a record per second of both clusters with each kind of query, as they are after an outage."""
    lags = dict(zip(("blue", "green"), bench.sizes.event_lags_s, strict=True))
    streams = Streams(bench.folder, list(lags))
    streams.write([timed(bench, c, name, lags[name]) for c, name in zip(bench.near, lags, strict=True)])
    per_batch = max(lags.values()) // 6
    rows = []
    lost_aligned = 0
    with few_partitions(bench.spark):
        for kind in KINDS:
            for way in ways({"maxOffsetsPerTrigger": str(per_batch)}):
                cells, missing = _measure(bench, streams, kind, way, lags)
                rows.append([kind.name, way.name, *cells])
                lost_aligned += missing if way.is_aligned else 0
    bench.results.value(f"{STEP}.lost", lost_aligned)
    bench.results.table(
        f"Records in the results of queries with a watermark of {DELAY_S} s, {per_batch} records "
        "per batch and source: clusters "
        + " and ".join(f"{name}, {minutes(lag)} behind" for name, lag in lags.items()),
        ["query", "clusters as", *lags, "dropped, as counted by Spark", "batches", "s"],
        rows,
    )


def _measure(
    bench: Context, streams: Streams, kind: Kind, way: Way, produced: dict[str, int]
) -> tuple[list[str], int]:
    begin = time.monotonic()
    with checkpoint() as folder:
        result = start(bench.spark, kind, streams.source(bench.spark, way), folder, availableNow=True)
        result.query.awaitTermination()
    seconds = time.monotonic() - begin
    batches = progress(result.query)
    dropped = sum(op["numRowsDroppedByWatermark"] for batch in batches for op in batch["stateOperators"])
    read = sum(1 for batch in batches if batch["numInputRows"] > 0)
    counted = result.counted()
    bench.results.add(
        STEP,
        part="lags",
        query=kind.name,
        way=way.name,
        produced=produced,
        counted=counted,
        dropped=dropped,
        batches=read,
        seconds=seconds,
    )
    missing = lost(counted, produced)
    bench.say(f"{kind.name}, {way.name}: {missing:,} records lost, {read} batches")
    return [*shown(counted, produced), f"{dropped:,}", str(read), f"{seconds:.1f}"], missing
