"""Four clusters, of which one dies, one enters late and one becomes idle: the records that queries lose."""

from __future__ import annotations

import time
from contextlib import ExitStack

from benchmark.context import Cluster, Context
from benchmark.query import RecordsRead, checkpoint, running, wait
from benchmark.sources import Member
from benchmark.steps.event_time.queries import (
    DELAY_S,
    KINDS,
    STEP,
    Result,
    Streams,
    Way,
    few_partitions,
    lost,
    minutes,
    shown,
    start,
    timed,
    ways,
)

STEADY, DIES, ENTERS, IDLE = "steady", "dies", "enters", "idle"
IDLE_PART = 12
"""The idle cluster has only records of the first twelfth of the times of the one that dies."""


def run(bench: Context) -> None:
    """Run all kinds of queries at the same time, one way after the other, with the same changes of the clusters."""
    short, long = bench.sizes.event_lags_s
    outage = bench.sizes.event_outage_s
    part = long // IDLE_PART
    produced = {STEADY: short, DIES: long, ENTERS: long // 2, IDLE: part}
    with bench.testkit.start(f"{STEP}-{DIES}") as mortal:
        steady = timed(bench, bench.near[0], STEADY, short)
        dies = timed(bench, mortal, DIES, long)
        enters = timed(bench, bench.near[1], ENTERS, long // 2)
        idle = timed(bench, bench.near[1], IDLE, long, long - part)
        streams = Streams(bench.folder, list(produced))
        options = {
            "maxOffsetsPerTrigger": str(long // 6),
            "clusterFailurePolicy": "skip",
            # The stream of the cluster that enters has no cluster before.
            "allowMissingStreams": "true",
        }
        rows = []
        with few_partitions(bench.spark):
            for way in ways(options, alignmentIdleTimeout=f"{bench.sizes.event_idle_s}s"):
                streams.write([steady, dies, idle])
                # The others wait here for the cluster that is idle from now on.
                held = 2 * part + DELAY_S - 1
                counted = _run(bench, streams, way, mortal, [steady, dies, enters, idle], held, produced)
                for kind, found in counted.items():
                    bench.results.add(
                        STEP, part="changes", query=kind, way=way.name, produced=produced, counted=found
                    )
                    bench.say(f"{kind}, {way.name}: {lost(found, produced):,} records lost")
                    rows.append([kind, way.name, *shown(found, produced)])
                if way.is_aligned:
                    total = sum(lost(found, produced) for found in counted.values())
                    bench.results.value(f"{STEP}.lost.changes", total)
    bench.results.table(
        f"Records in the results of queries with a watermark of {DELAY_S} s, four clusters: steady, {minutes(short)} "
        f"behind; dies for {outage:g} s, {minutes(long)} behind; enters then, {minutes(long // 2)} behind; has only "
        "older records",
        ["query", "clusters as", *produced],
        rows,
    )


def _run(
    bench: Context,
    streams: Streams,
    way: Way,
    mortal: Cluster,
    members: list[Member],
    held: int,
    produced: dict[str, int],
) -> dict[str, dict[str, int]]:
    # A query that is not aligned does not wait for a cluster: with the pause, the outage begins before it has read all.
    pause = 0 if way.is_aligned else bench.sizes.event_outage_s / 12
    source = streams.source(bench.spark, way)
    with ExitStack() as stack:
        folder = stack.enter_context(checkpoint())
        results = [
            start(bench.spark, kind, source, folder, processingTime=f"{pause * 1000:.0f} milliseconds")
            for kind in KINDS
        ]
        for result in results:
            stack.enter_context(running(result.query))
        _wait_for_records(results, held)
        mortal.kill()
        streams.write(members)
        # A fixed time: the outage.
        time.sleep(bench.sizes.event_outage_s)
        mortal.restart()
        _wait_for_records(results, sum(produced.values()))
        return {result.kind.name: result.counted() for result in results}


def _wait_for_records(results: list[Result], records: int) -> None:
    for result in results:
        expected = records * result.kind.reads
        read = RecordsRead(result.query)
        wait(result.query, lambda r=read, n=expected: r.now() >= n, f"{expected} records", timeout_s=1800)  # type: ignore[misc]
