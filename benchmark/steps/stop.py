"""The duration of stop() while many clusters are read."""

from __future__ import annotations

import time

from benchmark.context import Context
from benchmark.query import checkpoint, last_batch, noop, running, wait
from benchmark.sources import StreamsFile, product
from benchmark.stats import Spread

STEP = "stop"


def run(bench: Context) -> None:
    """Stop an idle query that has read everything."""
    rows = []
    for count in (bench.sizes.scale[0], bench.sizes.scale[-1]):
        members = bench.members(bench.near, "scale", count, bench.sizes.scale_records)
        file = StreamsFile(bench.folder / f"stop-{count}.yaml", members)
        seconds = []
        for round_ in bench.sizes.all_rounds():
            with checkpoint() as folder, running(noop(product(bench.spark, file.path), folder).start()) as query:
                wait(query, lambda q=query: last_batch(q) >= 0, "the first batch")  # type: ignore[misc]
                begin = time.monotonic()
                query.stop()
                taken = time.monotonic() - begin
            bench.results.add(
                STEP, clusters=count, round=round_, cold=round_ < bench.sizes.cold_rounds, stop_s=taken
            )
            if round_ >= bench.sizes.cold_rounds:
                seconds.append(taken)
        spread = Spread.of(seconds)
        bench.say(f"{count} cluster id(s): stop() took {spread.show()} s")
        rows.append([str(count), spread.show()])
        if count == 64:
            bench.results.value("stop.64", spread.median)
    bench.results.table("stop() of a running query, s", ["cluster ids", "product"], rows)
