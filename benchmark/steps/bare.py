"""Reads all records of one cluster and of two, compared with a consumer without Spark."""

from __future__ import annotations

from benchmark.bare import read_bare
from benchmark.context import Context
from benchmark.query import Timing, available_now
from benchmark.sources import StreamsFile, product
from benchmark.stats import Spread, ratios

STEP = "bare"


def run(bench: Context) -> None:
    """Measure one cluster, then two."""
    rows = [_measure(bench, count) for count in (1, 2)]
    bench.results.table(
        f"Beside a consumer without Spark, {bench.sizes.records:,} records of {bench.sizes.record_bytes} bytes per "
        "cluster",
        [
            "clusters",
            "bare: M rec/s, first to last record",
            "... with start",
            "product: M rec/s, addBatch",
            "rate of product / bare",
            "... with start of the consumers",
            "bare: CPU s per M",
            "product: CPU s per M",
            "CPU of product / bare",
        ],
        rows,
    )


def _measure(bench: Context, count: int) -> list[str]:
    members = [
        bench.member(cluster, f"cluster-{i}", "bench", bench.sizes.records)
        for i, cluster in enumerate(bench.near[:count])
    ]
    records = bench.sizes.records * count
    file = StreamsFile(bench.folder / f"bare-{count}.yaml", members)
    ours: list[Timing] = []
    bare: list[dict[str, float]] = []
    # Both are measured when the JVM has compiled the code, which takes this number of rounds in each.
    warm_up = bench.sizes.bare_cold_rounds
    for round_ in range(warm_up + bench.sizes.bare_rounds):
        cold = round_ < warm_up
        timing = available_now(bench.spark, lambda: product(bench.spark, file.path), records)
        bench.results.add(STEP, clusters=count, reader="product", round=round_, cold=cold, **timing.figures())
        if cold:
            continue
        alone = read_bare(members, bench.sizes.partitions, records, rounds=warm_up + 1)
        bench.results.add(STEP, clusters=count, reader="bare", round=round_, cold=cold, **alone)
        ours.append(timing)
        bare.append(alone)
    reading = [b["reading_nanos"] / 1e9 for b in bare]
    total = [b["total_nanos"] / 1e9 for b in bare]
    rate = ratios(reading, [t.reading_s for t in ours])
    started = ratios(total, [t.reading_s for t in ours])
    cpu = ratios([t.cpu_s for t in ours], [b["cpu_nanos"] / 1e9 for b in bare])
    bench.results.value(f"{STEP}.{count}.rate", rate.median)
    bench.results.value(f"{STEP}.{count}.cpu", cpu.median)
    bench.say(f"{count} cluster(s): rate {rate.show()} x, with start {started.show()} x, CPU {cpu.show()} x")
    return [
        str(count),
        Spread.of([records / s / 1e6 for s in reading]).show(),
        Spread.of([records / s / 1e6 for s in total]).show(),
        Spread.of([records / t.reading_s / 1e6 for t in ours]).show(),
        f"{rate.show()} x",
        f"{started.show()} x",
        Spread.of([b["cpu_nanos"] / 1e3 / records for b in bare]).show(),
        Spread.of([t.cpu_s / records * 1e6 for t in ours]).show(),
        f"{cpu.show()} x",
    ]
