"""The time from a producer to user code and to a topic in real-time mode. Measured by programs of jvm/benchmark."""

from __future__ import annotations

import itertools
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.context import KAFKA_THREADS, Cluster, Context
from benchmark.sources import STREAM, Member
from benchmark.stats import Spread, ratios
from benchmark.steps.live.idle import STEADY
from benchmark.steps.programs import Conversation
from benchmark.targets import TARGETS

STEP = "latency"
SINKS = ("foreach", "kafka")
PRODUCT, BUILTIN, RAW = "product", "builtin", "raw"
# Spark's own source has a task for each partition, which all run at the same time.
MASTER = "local[4]"
EVER = 2**62
_numbers = itertools.count()


@dataclass(frozen=True)
class Variant:
    """What is measured in each round."""

    sink: str
    rate: int
    clusters: int
    reader: str

    @property
    def target(self) -> str:
        """The prefix of the names of its targets."""
        return f"{STEP}.{self.sink}.{self.rate}.{self.clusters}"


class Bench:
    """The programs and brokers of the step."""

    def __init__(self, bench: Context, reader: Conversation, pace: Conversation) -> None:
        self.bench = bench
        self.sizes = bench.sizes
        self.reader = reader
        self.pace = pace
        self.clusters = [*bench.near, *bench.testkit.start_all("near-c", "near-d", properties=KAFKA_THREADS)]

    def topic(self, clusters: Sequence[Cluster], name: str) -> str:
        """A topic that no measurement has used."""
        topic = f"{name}-{next(_numbers)}"
        for cluster in clusters:
            cluster.create_topic(topic, partitions=self.sizes.partitions)
        return topic

    def file(self, members: Sequence[Member], copies: str | None = None) -> Path:
        """The metadata: the stream that is read, and a topic of the first cluster that is written."""
        streams = {STREAM: members}
        if copies:
            streams["copies"] = [Member(members[0].cluster_id, members[0].bootstrap_servers, copies)]
        path = self.bench.folder / f"real-time-{next(_numbers)}.yaml"
        replace(path, streams)
        return path

    def start(self, reader: str, sink: str, members: Sequence[Member], streams: Path) -> None:
        """Start a reader of these clusters, which all have a topic of the same name."""
        self.reader.ask(
            command="start",
            reader=reader,
            sink=sink,
            bootstrap=[m.bootstrap_servers for m in members],
            topic=members[0].topic,
            partitions=self.sizes.partitions,
            streams=str(streams),
        )

    def send(self, members: Sequence[Member], rate: int, seconds: float) -> dict[str, Any]:
        """Send records and return how many; with a rate of 0, one to each partition."""
        return self.pace.ask(
            bootstrap=[m.bootstrap_servers for m in members],
            topic=members[0].topic,
            partitions=self.sizes.partitions,
            bytes=self.sizes.record_bytes - 8,
            rate=rate,
            seconds=seconds,
        )

    def wait(self, records: int) -> None:
        """Until the reader has seen this number of records."""
        self.reader.ask(command="await", records=records)

    def percentiles(self, begin: int, end: int, clusters: int) -> dict[str, Any]:
        """The latencies of records of the first clusters that were sent in this period, in ns since 1970."""
        found = {"command": "percentiles", "from": begin, "until": end}
        return self.reader.ask(**found, clusters=[str(i) for i in range(clusters)])


def run(bench: Context) -> None:
    """Measure readers in turn, then a change of the topology, then a query without records."""
    with (
        Conversation.in_spark("latency.RealTimeLatency", MASTER) as reader,
        Conversation.of("latency.Pace") as pace,
    ):
        own = Bench(bench, reader, pace)
        _readers(own)
        _changes(own)
        _idle(own)


def replace(path: Path, streams: dict[str, Sequence[Member]]) -> None:
    """Replace the metadata file atomically."""
    document = [
        {
            "streamId": stream,
            "clusterMetadataList": [
                {"clusterId": m.cluster_id, "bootstrapServers": m.bootstrap_servers, "topics": [m.topic]}
                for m in members
            ],
        }
        for stream, members in streams.items()
    ]
    part = path.with_suffix(".part")
    part.write_text(json.dumps(document))
    part.replace(path)


def _members(clusters: Sequence[Cluster], topic: str) -> list[Member]:
    return [Member(f"cluster-{i}", c.bootstrap_servers, topic) for i, c in enumerate(clusters)]


def _readers(own: Bench) -> None:
    variants = [
        Variant(sink, rate, clusters, reader)
        for sink in SINKS
        for rate in own.sizes.real_time_rates
        for clusters in own.sizes.real_time_clusters
        for reader in (PRODUCT, BUILTIN, RAW)
        # Spark's own source reads one cluster.
        if clusters == 1 or reader != BUILTIN
    ]
    found: dict[Variant, list[dict[str, Any]]] = defaultdict(list)
    rounds, warm_up = own.sizes.real_time_rounds, own.sizes.real_time_cold_rounds
    for round_ in range(warm_up + rounds):
        cold = round_ < warm_up
        # The order alternates, so that a machine that becomes slower or faster affects all.
        for variant in variants if round_ % 2 else reversed(variants):
            seconds = own.sizes.real_time_cold_s if cold else own.sizes.real_time_s
            figures = _measure(own, variant, seconds)
            own.bench.results.add(STEP, mode="real-time", round=round_, cold=cold, **vars(variant), **figures)
            if not cold:
                found[variant].append(figures)
    rows = []
    for variant in variants:
        spreads = {key: Spread.of([f[f"{key}_ms"] for f in found[variant]]) for key in ("p50", "p99")}
        against = []
        for key, spread in spreads.items():
            if variant.reader == PRODUCT and f"{variant.target}.{key}" in TARGETS:
                own.bench.results.value(f"{variant.target}.{key}", spread.median)
            if variant.reader == PRODUCT and variant.clusters == 1:
                theirs = found[Variant(variant.sink, variant.rate, 1, BUILTIN)]
                ratio = ratios([f[f"{key}_ms"] for f in found[variant]], [f[f"{key}_ms"] for f in theirs])
                own.bench.results.value(f"{STEP}.{variant.sink}.{variant.rate}.builtin.{key}", ratio.median)
                against.append(f"{ratio.show()} x")
        own.bench.say(f"{variant}: {spreads['p50'].show(1)} / {spreads['p99'].show(1)} ms")
        late = max(f["late_max_ms"] for f in found[variant])
        rows.append(
            [
                "user code" if variant.sink == "foreach" else "topic",
                f"{variant.rate:,}",
                str(variant.clusters),
                variant.reader,
                spreads["p50"].show(),
                spreads["p99"].show(),
                *(against or ["", ""]),
                f"{late:.1f}",
            ]
        )
    own.bench.results.table(
        f"Real-time mode, from before a record is sent until user code has it, or a consumer of the topic to which it "
        f"is copied, ms; {own.sizes.real_time_s:g} s in each of {rounds} rounds",
        [
            *("to", "records/s", "clusters", "reader", "p50", "p99"),
            *("p50: product / built-in", "p99", "producer late at most"),
        ],
        rows,
    )


def _measure(own: Bench, variant: Variant, seconds: float) -> dict[str, Any]:
    clusters = own.clusters[: variant.clusters]
    topic = own.topic(clusters, "real-time")
    copies = f"{topic}-copies"
    if variant.sink == "kafka":
        clusters[0].create_topic(copies, partitions=own.sizes.partitions)
    members = _members(clusters, topic)
    own.start(variant.reader, variant.sink, members, own.file(members, copies))
    try:
        # All consumers are open when the measurement begins.
        first = own.send(members, 0, 0)["sent"]
        own.wait(first)
        warm = own.sizes.real_time_warm_s
        begin = time.time_ns() + int(warm * 1e9)
        sent = own.send(members, variant.rate, warm + seconds)
        own.wait(first + sent["sent"])
        found = own.percentiles(begin, EVER, variant.clusters)
    finally:
        own.reader.ask(command="stop")
    return {**found, "late_max_ms": sent["late_max_ms"]}


def _changes(own: Bench) -> None:
    """Clusters that stay get records at an even pace while another one, which has records, is added and removed."""
    *staying, other = own.clusters
    members = _members(staying, own.topic(staying, "staying"))
    window = own.sizes.real_time_window_s
    changes = own.sizes.real_time_changes
    new = []
    for i in range(changes):
        new.append(Member(f"new-{i}", other.bootstrap_servers, own.topic([other], "new")))
        other.load(new[i].topic, own.sizes.scale_records, own.sizes.record_bytes)
    path = own.file(members)
    periods: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def observe(what: str) -> None:
        # A fixed time: the records that are sent in it are those that count.
        begin = time.time_ns()
        time.sleep(window)
        periods[what].append((begin, time.time_ns()))

    own.start(PRODUCT, "foreach", members, path)
    try:
        first = own.send(members, 0, 0)["sent"]
        own.wait(first)
        seconds = own.sizes.real_time_warm_s + window * (1 + 2 * changes)
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(own.send, members, min(own.sizes.real_time_rates), seconds)
            # A fixed time: the warm-up, whose records do not count.
            time.sleep(own.sizes.real_time_warm_s)
            observe("no change")
            for member in new:
                replace(path, {STREAM: [*members, member]})
                observe("a cluster is added")
                replace(path, {STREAM: members})
                observe("a cluster is removed")
        own.wait(first + sending.result()["sent"] + changes * own.sizes.scale_records)
        rows = []
        for what, all_of_it in periods.items():
            found = [own.percentiles(begin, end, len(staying)) for begin, end in all_of_it]
            for figures in found:
                own.bench.results.add(STEP, mode="change", what=what, **figures)
            p99 = Spread.of([f["p99_ms"] for f in found])
            if what != "no change":
                own.bench.results.value(f"{STEP}.{what.rsplit(' ', 1)[1]}", p99.median)
            longest = Spread.of([f["max_ms"] for f in found])
            rows.append([what, Spread.of([f["p50_ms"] for f in found]).show(), p99.show(), longest.show()])
    finally:
        own.reader.ask(command="stop")
    own.bench.results.table(
        f"Real-time mode, {len(staying)} clusters that stay with {min(own.sizes.real_time_rates):,} records/s, in the "
        f"{window:g} s after each of {changes} changes, ms",
        ["", "p50", "p99", "longest"],
        rows,
    )


def _idle(own: Bench) -> None:
    members = []
    for i in range(own.sizes.latency_clusters):
        cluster = own.clusters[i % len(own.clusters)]
        members.append(Member(f"cluster-{i:03d}", cluster.bootstrap_servers, own.topic([cluster], "quiet")))
    without = _steady(own)
    own.start(PRODUCT, "foreach", members, own.file(members))
    try:
        idle = _steady(own)
    finally:
        own.reader.ask(command="stop")
    for what, used in (("without a query", without), ("idle", idle)):
        own.bench.results.add(STEP, mode="idle", what=what, clusters=len(members), cores=used)
    percent = (idle[-1] - without[-1]) * 100
    own.bench.results.value(f"{STEP}.idle", percent)
    own.bench.results.table(
        f"CPU of an idle query in real-time mode, {len(members)} cluster ids with {own.sizes.partitions} partitions "
        "each, % of a core",
        ["session without a query", "with an idle query", "difference"],
        [[f"{without[-1] * 100:.1f}", f"{idle[-1] * 100:.1f}", f"{percent:.1f}"]],
    )


def _steady(own: Bench) -> list[float]:
    """The cores in use, in periods until one uses hardly less than the one before: the JVM compiles meanwhile."""
    found: list[float] = []
    while len(found) < 2 or (found[-1] <= found[-2] * STEADY and len(found) < own.sizes.real_time_idle_periods):
        found.append(float(own.reader.ask(command="cores", seconds=own.sizes.real_time_idle_s)["cores"]))
    return found
