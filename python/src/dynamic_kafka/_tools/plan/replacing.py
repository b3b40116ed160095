"""Clusters that take the place of others by ``replaces``, as the connector's ``ReplacingClusters`` decides."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynamic_kafka._tools.checkpoint.composite import CompositeOffset
from dynamic_kafka._tools.plan.rules import Topology


@dataclass(frozen=True)
class Replacing:
    """What `replaces` means for the next batch.

    Attributes:
        former: The id of the cluster that is replaced, by the id of the one that enters now.
        start: The positions of the query, without those that were retained of a cluster that enters.
        topology: Without clusters that wait, because the one that they replace is still read.
    """

    former: dict[str, str]
    start: CompositeOffset
    topology: Topology


def replacing(start: CompositeOffset, topology: Topology, drain_removed: bool) -> Replacing:
    """Returns what `replaces` means.

    Args:
        start: The end of the newest batch.
        topology: The metadata.
        drain_removed: Whether what leaves the metadata is drained.
    """
    former = {
        id: other
        for id, other in topology.replaces.items()
        if id in topology.clusters
        and not start.clusters.get(id)
        and _last_read(start, other) > _last_read(start, id)
    }
    waiting = {id for id, other in former.items() if _is_read(start, topology, id, other, drain_removed)}
    entering = {id: other for id, other in former.items() if id not in waiting}
    return Replacing(
        entering,
        replace(start, retained={id: of for id, of in start.retained.items() if id not in entering}),
        replace(topology, clusters={id: of for id, of in topology.clusters.items() if id not in waiting}),
    )


def _last_read(start: CompositeOffset, id: str) -> float:
    """When a cluster was last read."""
    if start.clusters.get(id):
        return float("inf")
    retained = start.retained.get(id)
    times = [topic.since_ms for topic in retained.topics.values()] if retained is not None else []
    return max(times, default=float("-inf"))


def _is_read(start: CompositeOffset, topology: Topology, by: str, id: str, drain_removed: bool) -> bool:
    """Whether a cluster that is replaced is read further in the same streams."""
    named = topology.clusters.get(id, {})
    removed = topology.removed.get(id, frozenset())
    streams = topology.streams.get(by, frozenset())
    return any(
        named[topic].stream in streams if topic in named else drain_removed and topic not in removed
        for topic in start.clusters.get(id, {})
    )
