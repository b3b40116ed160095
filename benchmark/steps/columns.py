"""Records in memory as rows and as columnar batches. Measured by a program that is a driver with one core."""

from __future__ import annotations

from benchmark.context import Context
from benchmark.stats import Spread, ratios
from benchmark.steps.programs import run_driver

STEP = "columns"
PROGRAM = "source.read.ColumnsBenchmark"
KINDS = {"raw": "raw columns", "json": "JSON, 6 fields"}


def run(bench: Context) -> None:
    """Measure a write to `noop`, an aggregation and a write of Parquet, each in both ways."""
    found = run_driver(
        PROGRAM, "local[1]", bench.sizes.columns_records, bench.sizes.columns_rounds, bench.folder / "columns"
    )
    for part in found:
        bench.results.add(STEP, **part)
    rows: list[list[str]] = []
    for part in found:
        if part.get("way") == "rows":
            kind, query = part["records_kind"], part["query"]
            (columns,) = (
                other
                for other in found
                if (other.get("way"), other.get("records_kind"), other.get("query")) == ("columns", kind, query)
            )
            faster = ratios(part["nanos"], columns["nanos"])
            cpu = ratios(columns["cpu_nanos"], part["cpu_nanos"])
            bench.say(f"{KINDS[kind]}, {query}: {faster.show()} x the rate of rows, {cpu.show()} x the CPU")
            rates = [
                Spread.of([way["records"] / nanos * 1e3 for nanos in way["nanos"]]) for way in (part, columns)
            ]
            rows.append(
                [KINDS[kind], query, *(rate.show() for rate in rates), f"{faster.show()} x", f"{cpu.show()} x"]
            )
    bench.results.table(
        f"Rows and columnar batches, {bench.sizes.columns_records:,} records in memory, one core",
        ["records", "query", "rows: M rec/s", "columns: M rec/s", "columns: rate", "columns: CPU"],
        rows,
    )
    copies = [part for part in found if "copied_bytes" in part]
    bench.results.table(
        "Copying a value out of the buffer of a response",
        ["bytes", "ns"],
        [
            [str(part["copied_bytes"]), Spread.of([nanos / part["records"] for nanos in part["nanos"]]).show(0)]
            for part in copies
        ],
    )
