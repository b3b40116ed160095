"""The topology that the streams of a query have in a metadata file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from dynamic_kafka._tools.plan.error import PlanError
from dynamic_kafka._tools.plan.rules import Topic, Topology
from dynamic_kafka.model import ClusterMetadata, KafkaStream


def topology_of(streams: Iterable[KafkaStream], there: Callable[[str], Iterable[str]]) -> Topology:
    """Returns the topology.

    Args:
        streams: The streams of the query.
        there: The topics that a cluster has, for patterns.
    """
    entries: dict[str, dict[str, list[tuple[str, ClusterMetadata]]]] = {}
    replaces: dict[str, str] = {}
    by_cluster: dict[str, set[str]] = {}
    for stream in sorted(streams, key=lambda s: s.stream_id):
        for id, entry in stream.clusters.items():
            if entry.replaces is not None:
                replaces[id] = entry.replaces
            if entry.state != "removed":
                by_cluster.setdefault(id, set()).add(stream.stream_id)
            for topic in _topics(entry, lambda id=id: there(id)):  # type: ignore[misc]
                entries.setdefault(id, {}).setdefault(topic, []).append((stream.stream_id, entry))
    clusters: dict[str, dict[str, Topic]] = {}
    removed: dict[str, set[str]] = {}
    for id, topics in entries.items():
        for topic, naming in topics.items():
            here = [(stream, entry) for stream, entry in naming if entry.state != "removed"]
            if here:
                clusters.setdefault(id, {})[topic] = _merged(topic, here)
            else:
                removed.setdefault(id, set()).add(topic)
    return Topology(clusters, removed, replaces, by_cluster)


def missing_clusters(before: Iterable[str], streams: Iterable[KafkaStream]) -> list[str]:
    """Clusters that the metadata lack, in contrast to those with ``state: removed``."""
    named = {id for stream in streams for id in stream.clusters}
    return sorted(set(before) - named)


def _topics(entry: ClusterMetadata, there: Callable[[], Iterable[str]]) -> list[str]:
    if entry.topic_pattern is None:
        return list(entry.topics or entry.partitions or ())
    try:
        pattern = re.compile(entry.topic_pattern)
    except re.error:
        raise PlanError(f"the pattern {entry.topic_pattern} is one of Java only") from None
    return [topic for topic in there() if pattern.fullmatch(topic)]


def _merged(topic: str, naming: list[tuple[str, ClusterMetadata]]) -> Topic:
    entries = [entry for _, entry in naming]
    selected = [None if e.partitions is None else e.partitions[topic] for e in entries]
    numbers = [n for n in selected if n is not None]
    starts: Mapping[str, None] = dict.fromkeys(str(e.starting_offsets) for e in entries if e.starting_offsets)
    return Topic(
        draining=all(entry.state == "draining" for entry in entries),
        partitions=frozenset(p for of in numbers for p in of) if len(numbers) == len(selected) else None,
        starting_offsets=next(iter(starts), None),
        stream=naming[0][0],
    )
