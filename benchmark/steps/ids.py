"""More cluster ids than an executor keeps consumers of: the cost of a cluster must not grow."""

from __future__ import annotations

from benchmark.context import Context
from benchmark.query import available_now
from benchmark.sources import StreamsFile, product
from benchmark.stats import Spread, ratios
from benchmark.targets import TARGETS

STEP = "ids"


def run(bench: Context) -> None:
    """Run whole AvailableNow queries; the first number of cluster ids is what the others are compared with."""
    counts = bench.sizes.ids
    found: dict[int, list[float]] = {count: [] for count in counts}
    files = {
        count: StreamsFile(
            bench.folder / f"ids-{count}.yaml",
            bench.members(bench.near, "scale", count, bench.sizes.scale_records),
        )
        for count in counts
    }
    for round_ in bench.sizes.all_rounds():
        cold = round_ < bench.sizes.cold_rounds
        # Alternating, so that a slow period affects all of them.
        for count in counts:
            timing = available_now(
                bench.spark,
                lambda n=count: product(bench.spark, files[n].path),  # type: ignore[misc]
                count * bench.sizes.scale_records,
            )
            bench.results.add(STEP, clusters=count, round=round_, cold=cold, **timing.figures())
            bench.say(f"{count} cluster ids, round {round_}: {timing.total_s:.2f} s")
            if not cold:
                found[count].append(timing.total_s / count * 1e3)
    rows = []
    for count in counts:
        ratio = ratios(found[count], found[counts[0]])
        whole = Spread.of([ms * count / 1e3 for ms in found[count]])
        rows.append([str(count), whole.show(), Spread.of(found[count]).show(1), f"{ratio.show()} x"])
        if f"ids.{count}" in TARGETS:
            bench.results.value(f"ids.{count}", ratio.median)
    bench.results.table(
        f"Many cluster ids on two brokers, {bench.sizes.partitions} partitions and {bench.sizes.scale_records} records "
        "each: whole AvailableNow query",
        ["cluster ids", "s", "ms per id", f"ratio to {counts[0]}"],
        rows,
    )
