"""The targets of the benchmark. A missed target is printed and is not a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Target:
    """A bound for one figure."""

    text: str
    bound: float
    sense: Literal["least", "most"]
    unit: str

    def met(self, value: float) -> bool:
        """Whether the figure is within the bound."""
        return value >= self.bound if self.sense == "least" else value <= self.bound

    def show(self) -> str:
        """The bound as text."""
        return f"at {self.sense} {self.bound:g} {self.unit}"


def _least(text: str, bound: float, unit: str) -> Target:
    return Target(text, bound, "least", unit)


def _most(text: str, bound: float, unit: str) -> Target:
    return Target(text, bound, "most", unit)


_SINKS = {"foreach": "a Scala foreach", "kafka": "a consumer of a topic"}
_RATES = {1_000: {"p50": 1.0, "p99": 5.0}, 20_000: {"p50": 1.5, "p99": 15.0}}

_REAL_TIME = {
    **{
        f"latency.{sink}.{rate}.{clusters}.{share}": _most(
            f"real-time mode, {rate:,}/s, {clusters} cluster(s) to {text}: {share}", bound, "ms"
        )
        for sink, text in _SINKS.items()
        for rate, bounds in _RATES.items()
        for clusters in (1, 4)
        for share, bound in bounds.items()
    },
    **{
        f"latency.{sink}.{rate}.builtin.{share}": _most(
            f"real-time mode, {rate:,}/s, 1 cluster to {text}: {share}", 1.0, "x built-in"
        )
        for sink, text in _SINKS.items()
        for rate, bounds in _RATES.items()
        for share in bounds
    },
    "latency.added": _most("real-time mode: p99 of clusters that stay while one is added", 100.0, "ms"),
    "latency.removed": _most("real-time mode: p99 of clusters that stay while one is removed", 100.0, "ms"),
    "latency.idle": _most("real-time mode, 16 clusters: CPU of an idle query", 10.0, "% of a core"),
}

TARGETS: dict[str, Target] = {
    "throughput.1.default": _least("1 cluster: reading, both with their defaults", 3.0, "x built-in"),
    "throughput.1.same": _least("1 cluster: reading, same client settings", 1.0, "x built-in"),
    "throughput.2.default": _least("2 clusters: reading, both with their defaults", 3.0, "x union"),
    "throughput.2.same": _least("2 clusters: reading, same client settings", 1.0, "x union"),
    **{
        f"bare.{clusters}.{figure}": target
        for clusters in (1, 2)
        for figure, target in (
            ("rate", _least(f"{clusters} cluster(s): reading, same client settings", 0.95, "x bare consumer")),
            ("cpu", _most(f"{clusters} cluster(s): CPU of reading", 1.2, "x bare consumer")),
        )
    },
    "cost": _most("reading with commits, limits and metrics, compared with reading without", 1.03, "x"),
    "json.small.builtin": _least(
        "JSON of 200 bytes, decoded, against the built-in source with from_json", 2.5, "x"
    ),
    "json.small.product": _least("JSON of 200 bytes, decoded, against from_json over the raw source", 2.5, "x"),
    "json.wide.builtin": _least(
        "JSON of 1 KB, 3 of 40 fields, against the built-in source with from_json", 5.0, "x"
    ),
    "json.wide.product": _least("JSON of 1 KB, 3 of 40 fields, against from_json over the raw source", 5.0, "x"),
    "avro.small": _least("Avro of 6 fields: with a registry, against a given schema", 0.9, "x"),
    "avro.wide": _least("Avro of 40 fields, 3 selected: with a registry, against a given schema", 0.9, "x"),
    "protobuf.small": _least("Protobuf of 6 fields, against the DynamicMessage of Java's library", 1.0, "x"),
    "protobuf.wide": _least(
        "Protobuf of 40 fields, 3 selected, against the DynamicMessage of Java's library", 1.0, "x"
    ),
    "scale.64": _most("64 cluster ids: whole AvailableNow query, warm", 7.0, "s"),
    "planning.64": _most("planning of a trigger: 64 cluster ids at 50 ms distance, one has data", 50.0, "ms"),
    "planning.64.busy": _most(
        "planning of a trigger: 64 cluster ids at 50 ms distance, all have data", 50.0, "ms"
    ),
    "planning.64.latest": _most("64 cluster ids, one has data: latestOffset at 50 ms distance", 20.0, "ms"),
    "start.start.64": _most("first AvailableNow query: planning with 64 cluster ids against 1", 2.0, "x"),
    "start.restart.64": _most("restart to the end of the first batch: 64 cluster ids against 1", 3.0, "x"),
    "discovery.first": _most("metadata change to first record of the new cluster", 1.5, "s"),
    "discovery.silence": _most("silence of the other cluster, compared with no change", 0.3, "s"),
    **{
        f"metadata.{service}": _most(f"metadata change to first record: {service}, default interval", bound, "s")
        for service, bound in {
            "file": 31.0,
            "http": 31.0,
            "kafka-topic": 0.5,
            "configmap": 1.0,
            "strimzi": 1.0,
        }.items()
    },
    "stop.64": _most("stop() with 64 cluster ids", 1.0, "s"),
    "wan.1.running": _least("1 distant cluster: rate of a batch with open consumers", 0.8, "x bare consumer"),
    "wan.2.running": _least("2 distant clusters: rate of a batch with open consumers", 0.8, "x bare consumer"),
    "ids.65": _most("65 cluster ids: time per id, compared with 64", 1.3, "x"),
    "ids.128": _most("128 cluster ids: time per id, compared with 64", 1.3, "x"),
    "ids.256": _most("256 cluster ids: time per id, compared with 64", 1.3, "x"),
    "latency.1": _most("1 cluster: record to the end of its micro-batch", 60.0, "ms"),
    "latency.16": _most("16 clusters: record to the end of its micro-batch", 80.0, "ms"),
    **_REAL_TIME,
    "idle": _most("64 cluster ids with 16 partitions: CPU of an idle query", 5.0, "% of a core"),
    "faults.frozen": _most("another cluster has a frozen broker: longest gap between batches", 1.2, "x"),
    "faults.leaderless": _most("another cluster has a partition without leader: longest gap", 1.2, "x"),
    "faults.slow": _most("another cluster answers after 5 s: longest gap between batches", 1.2, "x"),
    "large.codec": _most("100,000 partitions, 1,000 clusters: encode + decode + reconcile", 300.0, "ms"),
    "large.idle": _most("the same, simulated answers: idle trigger", 100.0, "ms"),
    "large.busy": _most("the same, simulated answers: trigger with records in all", 1000.0, "ms"),
    "large.query.idle": _most("1,000 ids of one topic with 100 partitions: idle trigger", 100.0, "ms"),
    "large.query.busy": _most("1,000 ids of one topic: trigger with records in all", 1000.0, "ms"),
    "large.heap": _most("1,000 ids of one topic: heap of the driver after GC", 1024.0, "MiB"),
    "places": _most("1 to 600 executors: numbers of executors with one that no task prefers", 0.0, ""),
    "offsets": _most("10,000 partitions, 64 clusters: encode + decode + reconcile", 50.0, "ms"),
    "sink.spark": _least("writing, at-least-once: both with their defaults", 1.0, "x built-in"),
    "sink.same": _least("writing, at-least-once: same client settings", 1.0, "x built-in"),
    "sink.once": _least("writing, exactly-once: 1,000,000 records per batch", 0.8, "x at-least-once"),
    "sink.added": _most("exactly-once: additional time per batch, 100 tasks, 2 clusters", 500.0, "ms"),
    "sink.heap": _most("exactly-once: growth of the heap between batch 100 and 1,000", 8.0, "MiB"),
    "event-time.lost": _most("clusters of different lag, aligned, 3 queries: records lost", 0.0, "records"),
    "event-time.lost.changes": _most(
        "4 clusters, one dies, one enters, one is idle, aligned, 3 queries: records lost", 0.0, "records"
    ),
    "event-time.level": _least("2 level clusters, aligned, against not aligned: rate of triggers", 0.95, "x"),
    "event-time.bounded": _least("the same, if alignment bounds each of 10 batches", 0.95, "x"),
    "event-time.idle": _most("64 cluster ids, idle: additional CPU if they are aligned", 0.5, "% of a core"),
    "commands.validate": _most("validate, as a whole process", 1.2, "x former"),
    "commands.offsets": _most("offsets --no-lag, as a whole process", 1.2, "x former"),
    "memory": _most("heap after GC: growth between trigger 100 and 1,000", 8.0, "MiB"),
}
