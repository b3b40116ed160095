"""The time from a change of the metadata to the first record of the new cluster, for each metadata service."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from dynamic_kafka import DynamicKafka, OffsetsInitializer
from pyspark.sql import functions as F

from benchmark.context import Context
from benchmark.query import checkpoint, running, wait
from benchmark.sources import STREAM, Member
from benchmark.stats import Spread
from benchmark.steps.discovery import knows
from benchmark.steps.metadata.places import PLACES, POLLED, Place

STEP = "metadata"
TABLE = "benchmark_metadata"
DEFAULT_POLL_S = 30.0


def run(bench: Context) -> None:
    """Change the metadata in each place while a query of its service runs."""
    steady, other = bench.near
    sizes = bench.sizes
    stays = bench.member(steady, "steady", "metadata-steady", sizes.scale_records)
    comes = [
        bench.member(other, f"new-{i}", f"metadata-{i}", sizes.scale_records)
        for i in range(sizes.metadata_changes)
    ]
    rows = []
    for name, opened in PLACES.items():
        with opened(bench) as place:
            found = _first_records(bench, place, name in POLLED, stays, comes)
        for number, seconds in enumerate(found):
            bench.results.add(STEP, service=name, change=number, first_record_s=seconds)
        spread = Spread.of(found)
        bench.results.value(f"metadata.{name}", spread.median)
        bench.say(f"{name}: first record after {spread.show()} s")
        rows.append([name, "polled" if name in POLLED else "watched", spread.show()])
    poll = "default interval" if sizes.metadata_poll_ms is None else f"every {sizes.metadata_poll_ms} ms"
    bench.results.table(
        f"Metadata change to the first record of the new cluster, polls: {poll}, s",
        ["service", "changes are noticed", "median (min-max)"],
        rows,
    )


def _first_records(
    bench: Context, place: Place, polled: bool, stays: Member, comes: Sequence[Member]
) -> list[float]:
    """The seconds from each change to the first record of the cluster that it adds."""
    spark, poll_ms = bench.spark, bench.sizes.metadata_poll_ms
    members = [stays]
    place.put(members)
    builder = DynamicKafka.builder(spark).set_kafka_metadata_service(place.service).set_stream_ids(STREAM)
    builder.set_starting_offsets(OffsetsInitializer.earliest())
    if poll_ms is not None:
        builder.set_metadata_discovery_interval(poll_ms)
    # The time at which a task processes the row, as in a sink that writes row by row.
    seen = F.expr("reflect('java.lang.System', 'currentTimeMillis')").cast("long").alias("seen")
    writer = builder.load().select("cluster", seen).writeStream.format("memory").queryName(TABLE)
    period = (DEFAULT_POLL_S if poll_ms is None else poll_ms / 1e3) if polled else 1.0
    rng = random.Random(1)
    changed = []
    spark.sql(f"DROP VIEW IF EXISTS {TABLE}")
    with checkpoint() as folder, running(writer.option("checkpointLocation", folder).start()) as query:
        wait(query, lambda: spark.table(TABLE).count() > 0, "the first record")
        for number, new in enumerate(comes):
            # A fixed time, so that the changes fall on different points of the poll's period.
            time.sleep((number + rng.random()) / len(comes) * period)
            changed.append(time.time() * 1e3)
            members.append(new)
            place.put(members)
            wait(query, lambda new=new: knows(query, new), f"cluster {new.cluster_id}")  # type: ignore[misc]
        rows = spark.table(TABLE).groupBy("cluster").agg(F.min("seen").alias("first")).collect()
    first = {row.cluster: row.first for row in rows}
    return [(first[new.cluster_id] - at) / 1e3 for new, at in zip(comes, changed, strict=True)]
