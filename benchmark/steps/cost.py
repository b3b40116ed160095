"""The cost of commits, limits and metrics: the connector with them, compared with the connector without."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame

from benchmark.context import Context
from benchmark.query import Timing, available_now
from benchmark.sources import StreamsFile, product
from benchmark.stats import Spread, ratios

STEP = "cost"
PLAIN = "without"
WATCHED = "commits, limits, metrics"


def run(bench: Context) -> None:
    """Read two clusters. The limits are evaluated but not reached, so that both queries run the same batch."""
    members = [
        bench.member(cluster, f"cluster-{i}", "bench", bench.sizes.records) for i, cluster in enumerate(bench.near)
    ]
    file = StreamsFile(bench.folder / "cost.yaml", members)
    expected = bench.sizes.records * len(members)
    metrics = bench.spark.conf.get("spark.sql.streaming.metricsEnabled", "false") or "false"
    kept: list[tuple[Timing, Timing]] = []
    try:
        for round_ in bench.sizes.all_rounds(bench.sizes.cost_rounds):
            found: dict[str, Timing] = {}
            for reader in (PLAIN, WATCHED) if round_ % 2 == 0 else (WATCHED, PLAIN):
                watched = reader == WATCHED
                bench.spark.conf.set("spark.sql.streaming.metricsEnabled", str(watched).lower())
                options = _watched(expected) if watched else {}
                found[reader] = available_now(bench.spark, lambda o=options: _frame(bench, file.path, o), expected)  # type: ignore[misc]
                bench.results.add(
                    STEP,
                    clusters=len(members),
                    reader=reader,
                    round=round_,
                    cold=round_ < bench.sizes.cold_rounds,
                    **found[reader].figures(),
                )
            bench.say(f"round {round_}: {found[PLAIN].reading_s:.2f} s, {found[WATCHED].reading_s:.2f} s")
            if round_ >= bench.sizes.cold_rounds:
                kept.append((found[PLAIN], found[WATCHED]))
    finally:
        bench.spark.conf.set("spark.sql.streaming.metricsEnabled", metrics)
    _report(bench, kept)


def _watched(records: int) -> dict[str, str]:
    return {
        "commitOffsets": "true",
        "commitGroupId": f"bench-{uuid.uuid4().hex[:8]}",
        "maxOffsetsPerTrigger": str(records * 2),
        "minOffsetsPerTrigger": "1",
        "maxTriggerDelay": "1s",
    }


def _frame(bench: Context, file: Path, options: Mapping[str, str]) -> DataFrame:
    return product(bench.spark, file, options=options)


def _report(bench: Context, kept: list[tuple[Timing, Timing]]) -> None:
    figures: dict[str, Callable[[Timing], float]] = {
        "reading, s": lambda t: t.reading_s,
        "whole query, s": lambda t: t.total_s,
        "CPU, s": lambda t: t.cpu_s,
    }
    rows = []
    for what, figure in figures.items():
        plain, watched = ([figure(pair[side]) for pair in kept] for side in (0, 1))
        ratio = ratios(watched, plain)
        rows.append([what, Spread.of(plain).show(), Spread.of(watched).show(), f"{ratio.show(3)} x"])
        if what.startswith("reading"):
            bench.results.value(STEP, ratio.median)
    bench.results.table(
        f"Commits, limits and metrics, {bench.sizes.records:,} records per cluster, 2 clusters",
        ["what", PLAIN, f"with {WATCHED}", "ratio"],
        rows,
    )
