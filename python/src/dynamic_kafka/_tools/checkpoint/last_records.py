"""Reads what a checkpoint has of the last records that the query has read: ``read.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
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


def records_read(checkpoint: Path, source: SourceId, id: str, positions: Positions) -> dict[Partition, LastRecord]:
    """Returns the last records of the partitions of a cluster that are at these positions.

    A file that cannot be read is ignored, as the query does. Nothing is known of a position that was set back.

    Args:
        checkpoint: Folder of the query's checkpoint.
        source: Spark's number of the source, or its name.
        id: Id of the cluster.
        positions: The next offsets to read.
    """
    file = checkpoint / "sources" / str(source) / "dynamic-kafka" / "read.json"
    try:
        offsets, times = _read(file.read_text("utf-8"), id)
    except (OSError, ValueError, LookupError, TypeError, CheckpointError):
        return {}
    return {
        (topic, p): LastRecord(offsets[topic][p], times[topic][p])
        for topic, of in positions.items()
        for p, at in of.items()
        if offsets.get(topic, {}).get(p, at) < at
    }


def _read(text: str, id: str) -> tuple[Positions, Positions]:
    root = json.loads(text)
    if root["version"] != _VERSION:
        raise ValueError(f"version {root['version']}")
    offsets, times = (composite.read(json.dumps(root[name])).clusters.get(id, {}) for name in ("offsets", "times"))
    return offsets, times
