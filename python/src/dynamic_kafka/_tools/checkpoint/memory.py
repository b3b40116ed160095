"""Reads the topology that the source stores in a checkpoint, next to Spark's logs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import SourceId

_VERSION = 1

Properties = dict[str, str]


@dataclass(frozen=True)
class Remembered:
    """The newest topology, and the options of the run that stored it.

    Attributes:
        properties: Kafka client properties by cluster id. They contain no secrets.
        current: The clusters of the metadata that the last batch was planned with.
        streams: The streams of these clusters that the query reads.
        options: The options that decide what the next batch reads, by name.
    """

    properties: dict[str, Properties] = field(default_factory=dict)
    current: frozenset[str] = frozenset()
    streams: frozenset[str] = frozenset()
    options: dict[str, str] = field(default_factory=dict)


def remembered_clusters(checkpoint: Path, source: SourceId) -> dict[str, Properties]:
    """Returns Kafka client properties by cluster id, as :func:`remembered` does."""
    return remembered(checkpoint, source).properties


def remembered(checkpoint: Path, source: SourceId) -> Remembered:
    """Returns the newest topology, without anything if there is none.

    Args:
        checkpoint: Folder of the query's checkpoint.
        source: Spark's number of the source, or its name.

    Raises:
        CheckpointError: if the file of the topology cannot be read.
    """
    folder = checkpoint / "sources" / str(source) / "dynamic-kafka" / "topology"
    files = {int(file.stem): file for file in folder.glob("*.json") if file.stem.isdecimal()}
    if not files:
        return Remembered()
    file = files[max(files)]
    try:
        root = json.loads(file.read_text("utf-8"))
        if root["version"] != _VERSION:
            raise CheckpointError(
                f"{file} has version {root['version']}, but this release supports version {_VERSION}"
            )
        # The current properties of a cluster take precedence over former ones.
        current = root["current"]
        return Remembered(
            _properties(root["former"]) | _properties(current),
            frozenset(current),
            frozenset(
                topic["stream"]
                for cluster in current.values()
                for topic in (*cluster["topics"].values(), *cluster.get("patterns", ()))
            ),
            dict(root["options"]),
        )
    except (json.JSONDecodeError, LookupError, TypeError, AttributeError):
        raise CheckpointError(f"{file} is not a topology that the connector wrote") from None


def _properties(clusters: dict[str, Any]) -> dict[str, Properties]:
    return {
        id: {name: str(value) for name, value in cluster["properties"].items()} for id, cluster in clusters.items()
    }
