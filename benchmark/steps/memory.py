"""The driver's heap over many triggers."""

from __future__ import annotations

import threading

from benchmark.context import Context, Record
from benchmark.query import checkpoint, last_batch, noop, running, used_heap_mib, wait
from benchmark.sources import StreamsFile, product

STEP = "memory"


def run(bench: Context) -> None:
    """Run a query with a trickle of data, so that every trigger is a batch; measure the heap after collections."""
    members = bench.members(bench.near, "memory", bench.sizes.memory_clusters, records=0)
    file = StreamsFile(bench.folder / "memory.yaml", members)
    early, late = bench.sizes.memory_triggers
    points = sorted({early, *(early + (late - early) * k // 4 for k in range(1, 4)), late})
    bench.spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10")
    end = threading.Event()
    feeder = threading.Thread(target=_feed, args=(bench, end))
    heap: list[float] = []
    try:
        with checkpoint() as folder:
            frame = product(bench.spark, file.path, discovery_ms=200)
            with running(noop(frame, folder).start()) as query:
                feeder.start()
                for point in points:
                    wait(query, lambda n=point: last_batch(query) >= n, f"trigger {point}", timeout_s=1200)  # type: ignore[misc]
                    heap.append(used_heap_mib(bench.spark))
                    bench.results.add(STEP, trigger=point, heap_mib=heap[-1])
                    bench.say(f"trigger {point}: {heap[-1]:.1f} MiB")
    finally:
        end.set()
        if feeder.is_alive():
            feeder.join()
        bench.spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "2000")
    growth = heap[-1] - heap[0]
    bench.results.value("memory", growth)
    bench.results.table(
        f"Heap of the driver after GC, {len(members)} cluster ids, MiB",
        [*(f"trigger {point}" for point in points), "growth"],
        [[*(f"{mib:.1f}" for mib in heap), f"{growth:.1f}"]],
    )


def _feed(bench: Context, end: threading.Event) -> None:
    while not end.wait(0.02):
        bench.near[0].produce("memory-0", [Record(0, None, "x")])
