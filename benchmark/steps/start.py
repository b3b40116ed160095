"""The cost of a start and a restart with distant brokers: clients are opened, and all offsets are requested."""

from __future__ import annotations

import time
from datetime import datetime

from benchmark.context import Context
from benchmark.query import available_now_in, checkpoint
from benchmark.sources import Member, StreamsFile, product
from benchmark.stats import Spread
from benchmark.steps.planning import PHASES, Feed

STEP = "start"
KINDS = {"start": "planning", "restart": "to the end of the first batch"}


def run(bench: Context) -> None:
    """Run an AvailableNow query without a checkpoint, then the same one again with one more record in each cluster."""
    counts = (bench.sizes.scale[0], bench.sizes.scale[-1])
    found: dict[tuple[str, int], list[float]] = {(kind, count): [] for kind in KINDS for count in counts}
    for round_ in bench.sizes.all_rounds():
        # Alternating, so that a slow period affects both.
        for count in counts:
            figures = _measure(bench, count)
            cold = round_ < bench.sizes.cold_rounds
            bench.results.add(STEP, clusters=count, round=round_, cold=cold, **figures)
            bench.say(f"{count} cluster id(s), round {round_}: {figures}")
            if not cold:
                for kind in KINDS:
                    found[kind, count].append(figures[f"{kind}_ms"])
    rows = []
    for kind, what in KINDS.items():
        few, many = (Spread.of(found[kind, count]) for count in counts)
        rows.append([f"{kind}: {what}", few.show(0), many.show(0), f"{many.median / few.median:.2f} x"])
        if counts[-1] == 64:
            bench.results.value(f"{STEP}.{kind}.64", many.median / few.median)
    bench.results.table(
        f"Start and restart with {bench.sizes.round_trip_ms:g} ms added round trip, ms",
        ["what", *(f"{count} cluster id(s)" for count in counts), "ratio"],
        rows,
    )


def _measure(bench: Context, count: int) -> dict[str, float]:
    members = bench.members(bench.far, "start", count, bench.sizes.scale_records)
    file = StreamsFile(bench.folder / f"start-{count}.yaml", members)
    clusters = {c.bootstrap_servers: c for c in bench.far}
    with checkpoint() as folder:
        first, *_ = available_now_in(bench.spark, lambda: product(bench.spark, file.path), folder)
        Feed(clusters, members).once()
        begin = time.time()
        second, *_ = available_now_in(bench.spark, lambda: product(bench.spark, file.path), folder)
    _complete(members, second["numInputRows"])
    trigger = datetime.fromisoformat(second["timestamp"].replace("Z", "+00:00")).timestamp()
    return {
        "start_ms": float(sum(first["durationMs"].get(phase, 0) for phase in PHASES)),
        "restart_ms": (trigger - begin) * 1e3 + second["durationMs"]["triggerExecution"],
        "restart_reading_ms": float(second["durationMs"]["addBatch"]),
    }


def _complete(members: list[Member], rows: int) -> None:
    if rows != len(members):
        raise RuntimeError(f"{rows} records were read after the restart, not {len(members)}")
