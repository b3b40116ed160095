"""A backfill over two clusters of different age: its time, and what it loses."""

from __future__ import annotations

import time

from benchmark.context import Context
from benchmark.query import checkpoint, collect_garbage, progress
from benchmark.sources import Member
from benchmark.stats import Spread
from benchmark.steps.event_time.queries import (
    END_MS,
    STEP,
    WINDOWS,
    Streams,
    Way,
    aligned,
    few_partitions,
    lost,
    minutes,
    shown,
    start,
)

TOPIC = f"{STEP}-backfill"
AGES_S = {"young": 3600, "old": 36000}


def run(bench: Context) -> None:
    """Alternate the ways of reading a topic of each cluster; the first round is cold."""
    each = bench.sizes.backfill_records // len(AGES_S)
    delay_s = AGES_S["old"] // bench.sizes.backfill_batches
    limit = {"maxOffsetsPerTrigger": str(2 * each // bench.sizes.backfill_batches)}
    produced = dict.fromkeys(AGES_S, each)
    streams = Streams(bench.folder, list(AGES_S))
    streams.write(_members(bench, each))
    ways = [
        Way("one source, one batch", {}),
        Way("one source, limited batches", limit),
        Way("one source, aligned", aligned(delay_s)),
        Way("a source for each cluster, limited batches", limit, is_union=True),
    ]
    kept: dict[str, list[float]] = {way.name: [] for way in ways}
    cells: dict[str, list[str]] = {}
    with few_partitions(bench.spark):
        for round_ in range(1 + bench.sizes.rounds):
            for way in ways if round_ % 2 == 0 else ways[::-1]:
                seconds, batches, counted = _measure(bench, streams, way, delay_s)
                bench.results.add(
                    STEP,
                    part="backfill",
                    way=way.name,
                    round=round_,
                    cold=round_ == 0,
                    seconds=seconds,
                    batches=batches,
                    produced=produced,
                    counted=counted,
                )
                bench.say(f"{way.name}, round {round_}: {seconds:.1f} s, {lost(counted, produced):,} records lost")
                cells[way.name] = [str(batches), *shown(counted, produced)]
                if round_ > 0:
                    kept[way.name].append(seconds)
    bench.results.table(
        f"A backfill of {2 * each:,} records into windows of a minute, watermark of {minutes(delay_s)}: clusters "
        + " and ".join(f"{name}, {minutes(age)} old" for name, age in AGES_S.items()),
        ["clusters as", "whole query, s", "batches", *AGES_S],
        [[way.name, Spread.of(kept[way.name]).show(1), *cells[way.name]] for way in ways],
    )


def _members(bench: Context, records: int) -> list[Member]:
    members = []
    for cluster, (name, age) in zip(bench.near, AGES_S.items(), strict=True):
        if (cluster.name, TOPIC) not in bench.topics:
            cluster.create_topic(TOPIC, partitions=bench.sizes.partitions)
            cluster.load(TOPIC, records, bench.sizes.record_bytes, (END_MS - age * 1000, END_MS))
            bench.topics.add((cluster.name, TOPIC))
        members.append(Member(name, cluster.bootstrap_servers, TOPIC))
    return members


def _measure(bench: Context, streams: Streams, way: Way, delay_s: int) -> tuple[float, int, dict[str, int]]:
    collect_garbage(bench.spark)
    with checkpoint() as folder:
        begin = time.monotonic()
        source = streams.source(bench.spark, way, delay_s)
        result = start(bench.spark, WINDOWS, source, folder, availableNow=True)
        result.query.awaitTermination()
        seconds = time.monotonic() - begin
    batches = sum(1 for batch in progress(result.query) if batch["numInputRows"] > 0)
    return seconds, batches, result.counted()
