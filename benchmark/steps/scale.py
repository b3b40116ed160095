"""Many cluster ids with few records: the cost of a cluster."""

from __future__ import annotations

from benchmark.context import Context
from benchmark.query import Timing, available_now
from benchmark.sources import SAME_SETTINGS, StreamsFile, builtin, product
from benchmark.stats import Spread, ratios

STEP = "scale"
PHASES = ("latestOffset", "queryPlanning", "addBatch", "walCommit", "commitOffsets")


def run(bench: Context) -> None:
    """Run whole AvailableNow queries over a growing number of cluster ids."""
    rows = []
    for count in bench.sizes.scale:
        pairs = _measure(bench, count)
        union = Spread.of([other.total_s for other, _ in pairs])
        ours = Spread.of([timing.total_s for _, timing in pairs])
        ratio = ratios([o.total_s for o, _ in pairs], [t.total_s for _, t in pairs])
        phases = [Spread.of([t.duration_ms.get(phase, 0) / 1e3 for _, t in pairs]).show() for phase in PHASES]
        rest = Spread.of([t.total_s - t.duration_ms["triggerExecution"] / 1e3 for _, t in pairs])
        rows.append([str(count), union.show(), ours.show(), f"{ratio.show()} x", *phases, rest.show()])
        if count == 64:
            bench.results.value("scale.64", ours.median)
    bench.results.table(
        f"Cluster ids on two brokers, {bench.sizes.partitions} partitions and {bench.sizes.scale_records} records "
        "each: whole AvailableNow query, s",
        ["cluster ids", "union, same settings", "product", "ratio", *PHASES, "outside the trigger"],
        rows,
    )


def _measure(bench: Context, count: int) -> list[tuple[Timing, Timing]]:
    members = bench.members(bench.near, "scale", count, bench.sizes.scale_records)
    file = StreamsFile(bench.folder / f"scale-{count}.yaml", members)
    expected = count * bench.sizes.scale_records
    kept = []
    for round_ in bench.sizes.all_rounds():
        union = available_now(bench.spark, lambda: builtin(bench.spark, members, SAME_SETTINGS), expected)
        ours = available_now(bench.spark, lambda: product(bench.spark, file.path), expected)
        for reader, timing in (("built-in, same settings", union), ("product, its defaults", ours)):
            bench.results.add(
                STEP,
                clusters=count,
                reader=reader,
                round=round_,
                cold=round_ < bench.sizes.cold_rounds,
                **timing.figures(),
            )
        bench.say(
            f"{count} cluster id(s), round {round_}: union {union.total_s:.2f} s, product {ours.total_s:.2f} s"
        )
        if round_ >= bench.sizes.cold_rounds:
            kept.append((union, ours))
    return kept
