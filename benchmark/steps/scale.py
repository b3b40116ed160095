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
    union, ours = "built-in, same settings", "product, its defaults"
    readers = {
        union: lambda: builtin(bench.spark, members, SAME_SETTINGS),
        ours: lambda: product(bench.spark, file.path),
    }
    kept = []
    for round_ in bench.sizes.all_rounds():
        found = {
            reader: available_now(bench.spark, readers[reader], expected)
            for reader in (list(readers) if round_ % 2 == 0 else list(readers)[::-1])
        }
        for reader, timing in found.items():
            bench.results.add(
                STEP,
                clusters=count,
                reader=reader,
                round=round_,
                cold=round_ < bench.sizes.cold_rounds,
                **timing.figures(),
            )
        bench.say(
            f"{count} cluster id(s), round {round_}: union {found[union].total_s:.2f} s, "
            f"product {found[ours].total_s:.2f} s"
        )
        if round_ >= bench.sizes.cold_rounds:
            kept.append((found[union], found[ours]))
    return kept
