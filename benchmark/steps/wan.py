"""Reads all records of distant clusters, compared with a consumer without Spark."""

from __future__ import annotations

from benchmark.bare import read_bare
from benchmark.context import Context
from benchmark.query import available_now, available_now_in, checkpoint
from benchmark.sources import Member, StreamsFile, product
from benchmark.stats import Spread, ratios

STEP = "wan"
TOPIC = "wan"


def run(bench: Context) -> None:
    """Measure one cluster, then two with half of the records each. The bare consumer has the connector's settings."""
    rows = []
    for count in (1, 2):
        records = bench.sizes.wan_records // count
        members = [
            bench.member(c, f"cluster-{i}", f"{TOPIC}-{count}", records) for i, c in enumerate(bench.far[:count])
        ]
        rows.append(_measure(bench, members, records * count))
    bench.results.table(
        f"{bench.sizes.wan_records:,} records of {bench.sizes.record_bytes} bytes, {bench.sizes.round_trip_ms:g} ms "
        "away, s",
        [
            "clusters",
            "bare consumer, first to last",
            "... with start",
            "product, addBatch of the first batch",
            "... with start",
            "with start: product / bare",
            "running: M rec/s of a later batch",
            "rate of product / bare",
        ],
        rows,
    )


def _measure(bench: Context, members: list[Member], expected: int) -> list[str]:
    count = len(members)
    file = StreamsFile(bench.folder / f"wan-{count}.yaml", members)
    bare, ours, running = [], [], []
    for round_ in bench.sizes.all_rounds():
        cold = round_ < bench.sizes.cold_rounds
        # Another property in each round, so that no consumer of the round before is reused: all are opened.
        fresh = {"metadata.max.age.ms": str(300_000 + round_)}
        first = available_now(bench.spark, lambda f=fresh: product(bench.spark, file.path, f), expected)  # type: ignore[misc]
        later = _running(bench, file, fresh, expected)
        alone = read_bare(members, bench.sizes.partitions, expected, rounds=4)
        bench.results.add(
            STEP, clusters=count, reader="product", round=round_, cold=cold, later=later, **first.figures()
        )
        bench.results.add(STEP, clusters=count, reader="bare", round=round_, cold=cold, **alone)
        if not cold:
            bare.append(alone)
            ours.append(first)
            running.append(later)
    total = ratios([t.total_s for t in ours], [b["total_nanos"] / 1e9 for b in bare])
    rate = ratios(running, [b["records"] / b["reading_nanos"] * 1e9 for b in bare])
    bench.results.value(f"wan.{count}.running", rate.median)
    bench.say(f"{count} cluster(s): with start {total.show()} x, running {rate.show()} x")
    return [
        str(count),
        Spread.of([b["reading_nanos"] / 1e9 for b in bare]).show(),
        Spread.of([b["total_nanos"] / 1e9 for b in bare]).show(),
        Spread.of([t.reading_s for t in ours]).show(),
        Spread.of([t.total_s for t in ours]).show(),
        f"{total.show()} x",
        Spread.of([r / 1e6 for r in running]).show(),
        f"{rate.show()} x",
    ]


def _running(bench: Context, file: StreamsFile, properties: dict[str, str], expected: int) -> float:
    """The rate of a batch whose consumers are open: the second of two batches with half of the records each."""
    options = {"maxOffsetsPerTrigger": str(expected // 2)}
    with checkpoint() as folder:
        _, second, *_ = available_now_in(
            bench.spark, lambda: product(bench.spark, file.path, properties, options=options), folder
        )
    return float(second["numInputRows"] / second["durationMs"]["addBatch"] * 1e3)
