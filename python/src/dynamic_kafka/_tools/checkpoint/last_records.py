"""Reads what a checkpoint has of the last records that the query has read: ``read.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import SourceId

_VERSION = 1

Partition = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True)
class LastRecord:
    """A record that was read, and its time in milliseconds since 1970-01-01 UTC."""

    offset: int
    time_ms: int


@dataclass(frozen=True)
class ReadUpTo:
    """What is known of the records of a partition below a position.

    Attributes:
        position: The next offset to read.
        batch_ms: The time of the batch that has reached it.
        last: The last record that was read. None: its time is not known.
    """

    position: int
    batch_ms: int
    last: LastRecord | None = None

    @property
    def time_ms(self) -> int:
        """Records from the position on are hardly older. At the first offset of a log, all of them are unread."""
        if self.position == 0:
            return 0
        return self.batch_ms if self.last is None else min(self.last.time_ms, self.batch_ms)


@dataclass(frozen=True)
class RecordsRead:
    """The same of all partitions, by cluster id, topic and partition."""

    partitions: Mapping[tuple[str, str, int], ReadUpTo] = field(default_factory=dict)

    def of(self, id: str, positions: Positions, last_batch_ms: int) -> dict[Partition, ReadUpTo]:
        """Returns what is known of the partitions of a cluster that are at these positions.

        Args:
            id: Id of the cluster.
            positions: The next offsets to read.
            last_batch_ms: The time of the last batch, for partitions of which nothing is known.
        """
        found = {}
        for topic, offsets in positions.items():
            for partition, at in offsets.items():
                known = self.partitions.get((id, topic, partition), ReadUpTo(at, last_batch_ms))
                # The position was set back by an operator: nothing is known of the records below it.
                found[topic, partition] = known if known.position <= at else ReadUpTo(at, 0)
        return found


def records_read(checkpoint: Path, source: SourceId) -> RecordsRead:
    """Returns what the checkpoint has. A file that cannot be read is ignored, as the query does.

    Args:
        checkpoint: Folder of the query's checkpoint.
        source: Spark's number of the source, or its name.
    """
    file = checkpoint / "sources" / str(source) / "dynamic-kafka" / "read.json"
    try:
        return _read(file.read_text("utf-8"))
    except (OSError, ValueError, LookupError, TypeError, CheckpointError):
        return RecordsRead()


def _read(text: str) -> RecordsRead:
    root = json.loads(text)
    if root["version"] != _VERSION:
        raise ValueError(f"version {root['version']}")

    def part(name: str) -> dict[tuple[str, str, int], int]:
        clusters = composite.read(json.dumps(root[name])).clusters
        return {
            (id, t, p): at for id, of in clusters.items() for t, below in of.items() for p, at in below.items()
        }

    batches, times, records = part("batches"), part("times"), part("records")
    return RecordsRead(
        {
            key: ReadUpTo(
                at,
                batches.get(key, 0),
                LastRecord(records.get(key, at - 1), times[key]) if key in times else None,
            )
            for key, at in part("positions").items()
        }
    )
