"""What a query costs that has nothing to read."""

from __future__ import annotations

import time

from pyspark.sql import DataFrame

from benchmark.context import Context
from benchmark.machine import cpu_seconds
from benchmark.query import checkpoint, collect_garbage, jvm_pid, last_batch, noop, running, wait
from benchmark.sources import Member, StreamsFile, product

STEP = "idle"
TOPIC = "idle"
STEADY, ENOUGH = 0.9, 2
"""When this number of consecutive periods use no less than this part of the least so far, the warm-up ends."""


def run(bench: Context) -> None:
    """Measure the driver's CPU of a query with the default trigger, and of the same session without a query."""
    count, partitions = bench.sizes.idle_clusters, bench.sizes.idle_partitions
    members = []
    for i in range(count):
        cluster, topic = bench.near[i % len(bench.near)], f"{TOPIC}-{i}"
        cluster.create_topic(topic, partitions=partitions)
        members.append(Member(f"cluster-{i:03d}", cluster.bootstrap_servers, topic))
    file = StreamsFile(bench.folder / "idle.yaml", members)
    without = _cores(bench)
    idle = idle_cores(bench, product(bench.spark, file.path))
    for what, used in (("without a query", without), ("idle", idle)):
        bench.results.add(STEP, what=what, clusters=count, partitions=partitions, cores=used)
    percent = (idle - without) * 100
    bench.say(f"{percent:.1f} % of a core")
    bench.results.value(STEP, percent)
    bench.results.table(
        f"CPU of the driver over {bench.sizes.idle_s:g} s, {count} cluster ids with {partitions} partitions each, "
        "default trigger, % of a core",
        ["session without a query", "with an idle query", "difference"],
        [[f"{without * 100:.1f}", f"{idle * 100:.1f}", f"{percent:.1f}"]],
    )


def idle_cores(bench: Context, frame: DataFrame) -> float:
    """The cores in use while a query with the default trigger has nothing to read any more."""
    with checkpoint() as folder, running(noop(frame, folder).start()) as query:
        wait(query, lambda: last_batch(query) >= 0, "the first batch")
        return _steady(bench)


def _steady(bench: Context) -> float:
    """The cores in use when the JVM has compiled what an idle query executes, which takes minutes at its pace."""
    least, others = float("inf"), 0
    now = least
    for _ in range(bench.sizes.idle_warm):
        now = _cores(bench)
        # One period alone may have more than the one before by chance.
        others = 0 if now < least * STEADY else others + 1
        least = min(least, now)
        if others == ENOUGH:
            break
    return now


def _cores(bench: Context) -> float:
    collect_garbage(bench.spark)
    jvm = jvm_pid(bench.spark)
    used, begin = cpu_seconds(jvm), time.monotonic()
    # A fixed time, because it is a rate that is measured.
    time.sleep(bench.sizes.idle_s)
    return (cpu_seconds(jvm) - used) / (time.monotonic() - begin)
