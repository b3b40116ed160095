"""Reads the topology that the source stores in a checkpoint, next to Spark's logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import SourceId

_VERSION = 1

Properties = dict[str, str]


def remembered_clusters(checkpoint: Path, source: SourceId) -> dict[str, Properties]:
    """Returns Kafka client properties by cluster id, from the newest topology. They contain no secrets.

    Args:
        checkpoint: Folder of the query's checkpoint.
        source: Spark's number of the source, or its name.

    Raises:
        CheckpointError: if the file of the topology cannot be read.
    """
    folder = checkpoint / "sources" / str(source) / "dynamic-kafka" / "topology"
    files = {int(file.stem): file for file in folder.glob("*.json") if file.stem.isdecimal()}
    if not files:
        return {}
    file = files[max(files)]
    try:
        root = json.loads(file.read_text("utf-8"))
        if root["version"] != _VERSION:
            raise CheckpointError(
                f"{file} has version {root['version']}, but this release supports version {_VERSION}"
            )
        # The current properties of a cluster take precedence over former ones.
        return _properties(root["former"]) | _properties(root["current"])
    except (json.JSONDecodeError, LookupError, TypeError, AttributeError):
        raise CheckpointError(f"{file} is not a topology that the connector wrote") from None


def _properties(clusters: dict[str, Any]) -> dict[str, Properties]:
    return {
        id: {name: str(value) for name, value in cluster["properties"].items()} for id, cluster in clusters.items()
    }
