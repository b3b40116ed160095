"""The changes between two metadata files that queries see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from dynamic_kafka.model import ClusterMetadata, KafkaStream, State

Streams = Mapping[str, KafkaStream]
What = Literal[
    "cluster",
    "property",
    "stream",
    "cluster of stream",
    "topic",
    "partitions",
    "pattern",
    "state",
    "write",
    "offsets",
]
How = Literal[
    "enters",
    "leaves",
    "changes",
    "drains",
    "is removed",
    "is active again",
    "takes no writes",
    "takes writes again",
]
_STATES: dict[State, How] = {"draining": "drains", "removed": "is removed", "active": "is active again"}


@dataclass(frozen=True)
class Change:
    """One change.

    Attributes:
        what: The kind of thing that changes.
        how: The kind of change.
        stream: Id of the stream. None for changes of a cluster.
        cluster: Id of the cluster. None for changes of a stream.
        name: Name of the topic or the property, or the key of the offsets or the pattern. None for other things.
        old: The value in the old file. The value of a property can be a secret.
        new: The value in the new file. The value of a property can be a secret.
    """

    what: What
    how: How
    stream: str | None = None
    cluster: str | None = None
    name: str | None = None
    old: str | None = None
    new: str | None = None

    def to_json(self) -> dict[str, object]:
        """Returns all fields; absent values are None."""
        return asdict(self)


def changes(old: Streams, new: Streams) -> list[Change]:
    """Returns changes of clusters, then of streams, sorted by id. Clusters without a stream do not count."""
    return [*_clusters(_properties(old), _properties(new)), *_streams(old, new)]


def _properties(streams: Streams) -> dict[str, Mapping[str, str]]:
    """Returns the properties by cluster, from the first stream that names the cluster."""
    found: dict[str, Mapping[str, str]] = {}
    for _, stream in sorted(streams.items()):
        for id, entry in stream.clusters.items():
            found.setdefault(id, entry.properties)
    return found


def _clusters(old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> Iterator[Change]:
    for id in sorted(old.keys() | new.keys()):
        if id not in old or id not in new:
            yield Change("cluster", _moved(id, old), cluster=id)
            continue
        before, now = old[id], new[id]
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                how: How = "changes" if name in before and name in now else _moved(name, before)
                yield Change("property", how, None, id, name, before.get(name), now.get(name))


def _streams(old: Streams, new: Streams) -> Iterator[Change]:
    for id in sorted(old.keys() | new.keys()):
        if id not in old or id not in new:
            yield Change("stream", _moved(id, old), id)
        before = old[id].clusters if id in old else {}
        now = new[id].clusters if id in new else {}
        for cluster in sorted(before.keys() | now.keys()):
            if cluster in before and cluster in now:
                yield from _entry(id, cluster, before[cluster], now[cluster])
            else:
                yield Change("cluster of stream", _moved(cluster, before), id, cluster)


def _entry(stream: str, cluster: str, old: ClusterMetadata, new: ClusterMetadata) -> Iterator[Change]:
    if old.state != new.state:
        yield Change("state", _STATES[new.state], stream, cluster, None, old.state, new.state)
    if old.write != new.write:
        how: How = "takes writes again" if new.write else "takes no writes"
        yield Change("write", how, stream, cluster, None, *(str(w).lower() for w in (old.write, new.write)))
    before, now = _topics(old), _topics(new)
    for topic in sorted(before.keys() | now.keys()):
        if topic not in before or topic not in now:
            yield Change("topic", _moved(topic, before), stream, cluster, topic)
        elif before[topic] != now[topic]:
            yield Change("partitions", "changes", stream, cluster, topic, before[topic], now[topic])
    if old.topic_pattern != new.topic_pattern:
        patterns = old.topic_pattern, new.topic_pattern
        yield Change("pattern", "changes", stream, cluster, "topic_pattern", *patterns)
    for name in ("starting_offsets", "stopping_offsets"):
        given = getattr(old, name), getattr(new, name)
        if given[0] != given[1]:
            yield Change("offsets", "changes", stream, cluster, name, *given)


def _topics(entry: ClusterMetadata) -> dict[str, str]:
    """Returns the partitions of each topic as text."""
    if entry.partitions is None:
        return dict.fromkeys(entry.topics, "all")
    return {topic: ", ".join(map(str, numbers)) for topic, numbers in entry.partitions.items()}


def _moved(name: str, old: object) -> How:
    return "leaves" if isinstance(old, Mapping) and name in old else "enters"
