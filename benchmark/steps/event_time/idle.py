"""What an idle query costs with alignment, compared with one without."""

from __future__ import annotations

import statistics

from benchmark.context import Context, Record
from benchmark.sources import Member, StreamsFile, product
from benchmark.stats import Spread
from benchmark.steps.event_time.queries import STEP, aligned
from benchmark.steps.live.idle import idle_cores

TOPIC = f"{STEP}-idle"
ROUNDS = 2
WAYS = {"without": {}, "aligned": aligned(10)}


def run(bench: Context) -> None:
    """Alternate both, over cluster ids that have a record each, which is read first."""
    count, partitions = bench.sizes.idle_clusters, bench.sizes.idle_partitions
    members = []
    for i in range(count):
        cluster, topic = bench.near[i % len(bench.near)], f"{TOPIC}-{i}"
        cluster.create_topic(topic, partitions=partitions)
        cluster.produce(topic, [Record(0, None, "x")])
        members.append(Member(f"cluster-{i:03d}", cluster.bootstrap_servers, topic))
    file = StreamsFile(bench.folder / f"{TOPIC}.yaml", members)
    found: dict[str, list[float]] = {name: [] for name in WAYS}
    for round_ in range(ROUNDS):
        # The order alternates, because the first measurement may affect the next one.
        for name in WAYS if round_ % 2 == 0 else reversed(WAYS):
            cores = idle_cores(bench, product(bench.spark, file.path, options=WAYS[name]))
            found[name].append(cores * 100)
            bench.results.add(STEP, part="idle", way=name, round=round_, clusters=count, cores=cores)
            bench.say(f"idle, {name}: {cores * 100:.1f} % of a core")
    more = statistics.median(found["aligned"]) - statistics.median(found["without"])
    bench.results.value(f"{STEP}.idle", more)
    bench.results.table(
        f"CPU of the driver over {bench.sizes.idle_s:g} s with an idle query over {count} cluster ids with "
        f"{partitions} partitions each, default trigger, % of a core",
        ["without alignment", "with it", "difference"],
        [[*(Spread.of(percent).show(1) for percent in found.values()), f"{more:.1f}"]],
    )
