"""How the clusters of a checkpoint are reached, as the source remembers it beside Spark's logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dynamic_kafka._tools.checkpoint.error import CheckpointError

_VERSION = 1

Properties = dict[str, str]


def remembered_clusters(checkpoint: Path, source: int) -> dict[str, Properties]:
    """Properties by cluster id, of the newest topology that was remembered; none of them is a secret.

    Args:
        checkpoint: The folder of the query's checkpoint.
        source: The number that Spark gave the source.

    Raises:
        CheckpointError: if a file is there and cannot be understood.
    """
    folder = checkpoint / "sources" / str(source) / "dynamic-kafka" / "topology"
    files = {int(file.stem): file for file in folder.glob("*.json") if file.stem.isdecimal()}
    if not files:
        return {}
    file = files[max(files)]
    try:
        root = json.loads(file.read_text("utf-8"))
        if root["version"] != _VERSION:
            raise CheckpointError(f"{file} is of version {root['version']}, and this release reads {_VERSION}")
        # Of a cluster that is in both, the current address counts.
        return _properties(root["former"]) | _properties(root["current"])
    except (json.JSONDecodeError, LookupError, TypeError, AttributeError):
        raise CheckpointError(f"{file} is not a topology as the connector writes it") from None


def _properties(clusters: dict[str, Any]) -> dict[str, Properties]:
    return {
        id: {name: str(value) for name, value in cluster["properties"].items()} for id, cluster in clusters.items()
    }
