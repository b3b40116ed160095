"""The position and the lag of each partition in a composite offset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal

from dynamic_kafka._tools.checkpoint.composite import CompositeOffset

State = Literal["reading", "draining", "retained", "drained"]


@dataclass(frozen=True)
class Position:
    """The position in one partition.

    Attributes:
        cluster: Id of the cluster.
        topic: Name of the topic.
        partition: Number of the partition.
        position: The next offset to read.
        state: ``reading``; ``draining``: read up to the target, then removed; ``retained``: removed, and resumed
            here if it is added again; ``drained``: removed after it was read to its target.
        entered: Where reading begins, if the newest batch adds the partition, or adds it again.
        target: Where draining ends.
        stop: Where reading ends by ``endingOffsets`` or the metadata. None: reading does not end.
        since_ms: When a retained partition was removed, in milliseconds since 1970-01-01 UTC.
        end: End offset in Kafka, which is the offset of the next record. None: not known.
        lag: Number of offsets between position and end. None: not known.
    """

    cluster: str
    topic: str
    partition: int
    position: int
    state: State
    entered: int | None = None
    target: int | None = None
    stop: int | None = None
    since_ms: int | None = None
    end: int | None = None
    lag: int | None = None

    def with_end(self, end: int | None) -> Position:
        """Returns the position with end and lag; None leaves both unknown."""
        return self if end is None else replace(self, end=end, lag=max(0, end - self.position))

    def to_json(self) -> dict[str, object]:
        """Returns all fields; absent values are None."""
        return asdict(self)


def positions_of(offset: CompositeOffset) -> list[Position]:
    """Returns all partitions, sorted by cluster, topic and number."""
    return sorted((*_read(offset), *_left(offset)), key=lambda p: (p.cluster, p.topic, p.partition))


def _read(offset: CompositeOffset) -> Iterator[Position]:
    for cluster, topics in offset.clusters.items():
        for topic, partitions in topics.items():
            entered = offset.entered.get(cluster, {}).get(topic, {})
            targets = offset.draining.get(cluster, {}).get(topic, {})
            for partition, at in partitions.items():
                target = targets.get(partition)
                stop = offset.ends.get(cluster, {}).get(topic, {}).get(partition)
                state: State = "reading" if target is None else "draining"
                yield Position(cluster, topic, partition, at, state, entered.get(partition), target, stop)


def _left(offset: CompositeOffset) -> Iterator[Position]:
    for cluster, retained in offset.retained.items():
        for topic, of in retained.topics.items():
            state: State = "drained" if topic in retained.drained else "retained"
            for partition, at in of.offsets.items():
                yield Position(cluster, topic, partition, at, state, since_ms=of.since_ms)
