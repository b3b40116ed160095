"""Decodes Protobuf, beside the DynamicMessage of Java's library. Measured by a program in a separate JVM."""

from __future__ import annotations

from typing import Any

from benchmark.context import Context
from benchmark.stats import Spread, ratios
from benchmark.steps.programs import run_program

STEP = "protobuf"
PROGRAM = "format.table.ProtobufBenchmark"
PRODUCT = "product"
TEXTS = {"small": "6 fields, all of them", "wide": "40 fields, 3 of them"}


def run(bench: Context) -> None:
    """Measure both kinds of records, as bytes in memory."""
    found = run_program(PROGRAM, bench.sizes.protobuf_records, bench.sizes.protobuf_rounds)
    for part in found:
        bench.results.add(STEP, **part)
    rows: list[list[str]] = []
    for kind, text in TEXTS.items():
        parts = {part["reader"]: part for part in found if part["records_kind"] == kind}
        ours = parts.pop(PRODUCT)
        rows.append([text, PRODUCT, _rate(ours), ""])
        for name, theirs in parts.items():
            ratio = ratios(theirs["nanos"], ours["nanos"])
            bench.results.value(f"{STEP}.{kind}", ratio.median)
            bench.say(f"{text}: {ratio.show()} x {name}")
            rows.append([text, name, _rate(theirs), f"{ratio.show()} x"])
    bench.results.table(
        f"Protobuf to columns, {bench.sizes.protobuf_records:,} records in memory, one thread",
        ["records", "decoder", "M rec/s", "product decodes"],
        rows,
    )


def _rate(part: dict[str, Any]) -> str:
    return Spread.of([part["records"] / nanos * 1e3 for nanos in part["nanos"]]).show()
