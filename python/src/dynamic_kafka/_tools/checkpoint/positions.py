"""A composite offset partition by partition, with how far each is behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal

from dynamic_kafka._tools.checkpoint.composite import CompositeOffset

State = Literal["reading", "draining", "retained", "drained"]


@dataclass(frozen=True)
class Position:
    """Where reading is in one partition.

    Attributes:
        cluster: The cluster.
        topic: The topic.
        partition: The partition.
        position: The next offset to read.
        state: ``reading``; ``draining``: read up to the target, then left; ``retained``: has left, and resumes
            here if it returns; ``drained``: has left after it was read to its target.
        entered: Where it begins, if it is the last batch that introduces it or brings it back.
        target: Where draining ends.
        stop: Where reading ends, as ``endingOffsets`` or the metadata want it. None: nowhere.
        since_ms: When what is retained has left its cluster, epoch milliseconds.
        end: The offset that the next record in Kafka will have. None: not known.
        lag: Records between position and end. None: not known.
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
        """The same with what Kafka says of the partition's end."""
        return self if end is None else replace(self, end=end, lag=max(0, end - self.position))

    def to_json(self) -> dict[str, object]:
        """All fields; what there is not is null."""
        return asdict(self)


def positions_of(offset: CompositeOffset) -> list[Position]:
    """All partitions, by cluster, topic and number."""
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
        for topic, partitions in retained.positions.items():
            state: State = "drained" if topic in retained.drained else "retained"
            for partition, at in partitions.items():
                yield Position(cluster, topic, partition, at, state, since_ms=retained.since_ms)
