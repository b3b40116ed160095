"""The rate of reading with alignment, compared with the rate without, from clusters that are level."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from benchmark.context import Context
from benchmark.query import Timing, available_now
from benchmark.sources import Member, StreamsFile, product
from benchmark.stats import Spread, ratios
from benchmark.steps.event_time.queries import STEP, aligned

TOPIC = f"{STEP}-level"
SPAN_S = 600
"""The record times of each of the two topics, which are the same."""
BATCHES = 10


@dataclass(frozen=True)
class Case:
    """Options without alignment and with it, with which a query has the same batches."""

    name: str
    key: str
    plain: Mapping[str, str]
    aligned: Mapping[str, str]


def cases(bench: Context) -> list[Case]:
    """All record times within the drift, so that alignment bounds nothing; and a drift that bounds each batch."""
    limit = str(bench.sizes.records * 2 // BATCHES)
    return [
        Case("records within the drift, 1 batch", "level", {}, aligned(24 * 3600)),
        Case(
            f"a backlog of {BATCHES} x the drift, {BATCHES} batches",
            "bounded",
            {"maxOffsetsPerTrigger": limit},
            aligned(SPAN_S // BATCHES),
        ),
    ]


def level_members(bench: Context) -> list[Member]:
    """Two clusters with the same record times, some minutes ago."""
    end = int(time.time() - SPAN_S) * 1000
    members = []
    for i, cluster in enumerate(bench.near):
        if (cluster.name, TOPIC) not in bench.topics:
            cluster.create_topic(TOPIC, partitions=bench.sizes.partitions)
            times = (end - SPAN_S * 1000, end)
            cluster.load(TOPIC, bench.sizes.records, bench.sizes.record_bytes, times)
            bench.topics.add((cluster.name, TOPIC))
        members.append(Member(f"cluster-{i}", cluster.bootstrap_servers, TOPIC))
    return members


def run(bench: Context) -> None:
    """Alternate both, as in the step `throughput`."""
    members = level_members(bench)
    file = StreamsFile(bench.folder / f"{STEP}-rate.yaml", members)
    expected = bench.sizes.records * len(members)
    rows = []
    for case in cases(bench):
        kept: list[tuple[Timing, Timing]] = []
        for round_ in bench.sizes.all_rounds(bench.sizes.cost_rounds):
            found: dict[bool, Timing] = {}
            for is_aligned in (False, True) if round_ % 2 == 0 else (True, False):
                options = case.aligned if is_aligned else case.plain
                found[is_aligned] = available_now(
                    bench.spark,
                    lambda o=options: product(bench.spark, file.path, options=o),  # type: ignore[misc]
                    expected,
                )
                bench.results.add(
                    STEP,
                    part="rate",
                    case=case.name,
                    aligned=is_aligned,
                    round=round_,
                    cold=round_ < bench.sizes.cold_rounds,
                    **found[is_aligned].figures(),
                )
            bench.say(f"{case.name}, round {round_}: {_rate(found[False]):.2f} {_rate(found[True]):.2f} M rec/s")
            if round_ >= bench.sizes.cold_rounds:
                kept.append((found[False], found[True]))
        rows.append(_row(bench, case, kept))
    bench.results.table(
        f"Alignment of 2 clusters with the same record times, {bench.sizes.records:,} records each: whole triggers",
        ["case", "M rec/s without", "M rec/s aligned", "ratio", "whole query: ratio", "batches"],
        rows,
    )


def _row(bench: Context, case: Case, kept: list[tuple[Timing, Timing]]) -> list[str]:
    rate = ratios([_rate(with_) for _, with_ in kept], [_rate(without) for without, _ in kept])
    total = ratios([without.total_s for without, _ in kept], [with_.total_s for _, with_ in kept])
    bench.results.value(f"{STEP}.{case.key}", rate.median)
    return [
        case.name,
        Spread.of([_rate(without) for without, _ in kept]).show(),
        Spread.of([_rate(with_) for _, with_ in kept]).show(),
        f"{rate.show()} x",
        f"{total.show()} x",
        " and ".join(str(timing.batches) for timing in kept[0]),
    ]


def _rate(timing: Timing) -> float:
    """Millions of records per second of whole triggers, which ask for offsets and times, plan and read."""
    return timing.records / timing.duration_ms["triggerExecution"] / 1e3
