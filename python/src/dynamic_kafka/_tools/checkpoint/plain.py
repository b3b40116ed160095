"""Offsets of Spark's own ``kafka`` source: offsets by topic and partition, without a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.error import CheckpointError


def read(text: str) -> Positions | None:
    """Returns the positions, or None if this is an offset of another source."""
    try:
        root = json.loads(text)
    except json.JSONDecodeError:
        return None
    if not isinstance(root, dict) or not all(_is_topic(partitions) for partitions in root.values()):
        return None
    return {topic: {int(p): offset for p, offset in partitions.items()} for topic, partitions in root.items()}


def write(positions: Positions) -> str:
    """Returns the offset in a stable order."""
    return json.dumps(
        {topic: {str(p): of[p] for p in sorted(of)} for topic, of in sorted(positions.items())},
        separators=(",", ":"),
    )


def has_initial_offset(folder: Path) -> bool:
    """Whether Spark's Kafka source has stored its first offset in its folder of the checkpoint."""
    file = folder / "0"
    if not file.is_file():
        return False
    # Spark begins the file with a null character, which its version 2.1 needs.
    version, _, offset = file.read_text("utf-8", "replace").lstrip("\0").partition("\n")
    return version.startswith("v") and read(offset) is not None


def check_positions(positions: Positions, where: str) -> None:
    """Fails if a position cannot be one of Kafka.

    Raises:
        CheckpointError: with topic and partition.
    """
    for topic, partitions in positions.items():
        for partition, offset in partitions.items():
            if offset < 0:
                raise CheckpointError(f"{where}: topic '{topic}', partition {partition} has the offset {offset}")


def _is_topic(partitions: Any) -> bool:
    return isinstance(partitions, dict) and all(
        partition.isdecimal() and type(offset) is int for partition, offset in partitions.items()
    )
