"""Reads all records of one cluster, and of two clusters compared with a union of two built-in sources."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from benchmark.context import Context
from benchmark.query import Timing, available_now
from benchmark.sources import SAME_SETTINGS, Member, StreamsFile, builtin, product
from benchmark.stats import Spread, ratios

STEP = "throughput"

# The connector runs next to each of the others, because a ratio compares adjacent runs.
PAIRS = {"default": ("built-in, its defaults", {}), "same": ("built-in, same settings", SAME_SETTINGS)}
PRODUCT = "product, its defaults"


def run(bench: Context) -> None:
    """Measure one cluster, then two."""
    topics = [
        bench.member(cluster, f"cluster-{i}", "bench", bench.sizes.records) for i, cluster in enumerate(bench.near)
    ]
    rows: list[list[str]] = []
    for count in (1, 2):
        rows += _measure(bench, topics[:count])
    bench.results.table(
        f"Throughput to noop, {bench.sizes.records:,} records of {bench.sizes.record_bytes} bytes per cluster",
        ["reader", "M rec/s reading", "M rec/s total", "CPU s per M", "product: reading", "product: total"],
        rows,
    )


def _measure(bench: Context, members: list[Member]) -> list[list[str]]:
    count = len(members)
    file = StreamsFile(bench.folder / f"throughput-{count}.yaml", members)
    kept: dict[str, list[tuple[Timing, Timing]]] = {pair: [] for pair in PAIRS}
    for round_ in bench.sizes.all_rounds():
        for pair, (name, settings) in PAIRS.items():
            readers: list[tuple[str, Callable[[], DataFrame]]] = [
                (name, lambda s=settings: builtin(bench.spark, members, s)),  # type: ignore[misc]
                (PRODUCT, lambda: product(bench.spark, file.path)),
            ]
            found: dict[str, Timing] = {}
            # The order alternates, because the first run may affect the next one.
            for reader, source in readers if round_ % 2 == 0 else readers[::-1]:
                timing = available_now(bench.spark, source, bench.sizes.records * count)
                found[reader] = timing
                bench.results.add(
                    STEP,
                    clusters=count,
                    reader=reader,
                    pair=pair,
                    round=round_,
                    cold=round_ < bench.sizes.cold_rounds,
                    **timing.figures(),
                )
            bench.say(f"{count} cluster(s), round {round_}, {pair}: {_rate(found[name])} {_rate(found[PRODUCT])}")
            if round_ >= bench.sizes.cold_rounds:
                kept[pair].append((found[name], found[PRODUCT]))
    return [_row(bench, count, pair, pairs) for pair, pairs in kept.items()] + [_product_row(count, kept)]


def _row(bench: Context, count: int, pair: str, pairs: list[tuple[Timing, Timing]]) -> list[str]:
    theirs = [other for other, _ in pairs]
    # Both read the same records, so the ratio of rates is the inverse ratio of times.
    reading = ratios([other.reading_s for other, _ in pairs], [ours.reading_s for _, ours in pairs])
    total = ratios([other.total_s for other, _ in pairs], [ours.total_s for _, ours in pairs])
    bench.results.value(f"{STEP}.{count}.{pair}", reading.median)
    return [*_figures(f"{PAIRS[pair][0]}, {_clusters(count)}", theirs), f"{reading.show()} x", f"{total.show()} x"]


def _product_row(count: int, kept: dict[str, list[tuple[Timing, Timing]]]) -> list[str]:
    ours = [timing for pairs in kept.values() for _, timing in pairs]
    return [*_figures(f"{PRODUCT}, {_clusters(count)}", ours), "", ""]


def _figures(name: str, timings: list[Timing]) -> list[str]:
    reading = Spread.of([t.records / t.reading_s / 1e6 for t in timings])
    total = Spread.of([t.records / t.total_s / 1e6 for t in timings])
    cpu = Spread.of([t.cpu_s / t.records * 1e6 for t in timings])
    return [name, reading.show(), total.show(), cpu.show()]


def _clusters(count: int) -> str:
    return "1 cluster" if count == 1 else f"{count} clusters"


def _rate(timing: Timing) -> str:
    return f"{timing.records / timing.reading_s / 1e6:.2f} M rec/s"
