"""End offsets of partitions in Kafka."""

from __future__ import annotations

from dataclasses import dataclass, field

Partition = tuple[str, int]

EARLIEST = -2
LATEST = -1


@dataclass(frozen=True)
class Ends:
    """The answer of a cluster.

    Attributes:
        by_partition: End offsets by topic and partition.
        missing: Why some end offsets are not known. None if all are known.
    """

    by_partition: dict[Partition, int] = field(default_factory=dict)
    missing: str | None = None
