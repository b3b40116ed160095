"""Composite offsets with many partitions: encode, decode, reconcile. Measured by a program in a separate JVM."""

from __future__ import annotations

from benchmark.context import Context
from benchmark.stats import Spread
from benchmark.steps.programs import run_program

STEP = "offsets"
CLUSTERS = 64
PROGRAM = "offset.OffsetBenchmark"
PARTS = ("encode", "decode", "reconcile")
FURTHER = ("advance", "between")


def run(bench: Context) -> None:
    """Measure the medians of each part and of their sum, after a warm-up."""
    (found,) = run_program(PROGRAM, CLUSTERS, bench.sizes.offset_partitions, bench.sizes.offset_rounds)
    bench.results.add(STEP, **found)
    ms = {part: Spread.of([nanos / 1e6 for nanos in found["nanos"][part]]) for part in (*PARTS, *FURTHER)}
    whole = Spread.of([sum(nanos) / 1e6 for nanos in zip(*(found["nanos"][p] for p in PARTS), strict=True)])
    bench.say(f"{found['partitions']} partitions: {whole.show()} ms")
    bench.results.value("offsets", whole.median)
    bench.results.table(
        f"Composite offset, {found['partitions']:,} partitions over {CLUSTERS} clusters, "
        f"{found['json_bytes']:,} bytes of JSON, ms",
        ["encode + decode + reconcile", *PARTS, *(f"{part} (not included)" for part in FURTHER)],
        [[whole.show(), *(spread.show() for spread in ms.values())]],
    )
