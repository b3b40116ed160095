"""Writes composite offsets: of what another source has read, and with changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.packed import unpack

_VERSION = 2
_BY_CLUSTER = ("clusters", "entered", "retained", "draining", "ends", "identities")


def of_cluster(cluster: str, positions: Positions) -> str:
    """The offset of a query that has read these positions, without what Kafka calls the cluster and its topics."""
    return written({"version": _VERSION, "clusters": {cluster: _text_keys(positions)}})


def renamed(text: str, old: str, new: str) -> str:
    """The offset with another id of a cluster, or the same text if it does not contain the cluster."""
    root = _root(text)
    sections = [*_sections(root, _BY_CLUSTER)]
    for entry in root.get("earlier", []):
        sections += _sections(entry, ("entered", "epochs"))
    if not any([rename_key(section, old, new) for section in sections]):
        return text
    return written(root)


def moved(text: str, cluster: str, positions: Positions) -> str:
    """The offset with other positions of partitions that it has, whose leader epochs become unknown."""
    before = composite.read(text).clusters[cluster]
    root = _root(text)
    for topic, partitions in positions.items():
        root["clusters"][cluster][topic] |= {str(p): offset for p, offset in partitions.items()}
    identity = root.get("identities", {}).get(cluster, {})
    known = composite.read(text).identities.get(cluster)
    epochs = {} if known is None else known.epochs
    left = {t: [_epoch(epochs, t, p, positions) for p in sorted(before[t])] for t in epochs}
    left = {topic: of for topic, of in left.items() if any(epoch >= 0 for epoch in of)}
    identity.pop("epochs", None)
    if left:
        identity["epochs"] = {t: of[0] if len(set(of)) == 1 else of for t, of in left.items()}
    return written(root)


def rename_key(section: dict[str, Any], old: str, new: str) -> bool:
    """Renames a key of a JSON object whose keys are sorted. Returns whether there was one."""
    if old not in section:
        return False
    section[new] = section.pop(old)
    entries = sorted(section.items())
    section.clear()
    section.update(entries)
    return True


def written(root: Mapping[str, Any]) -> str:
    """JSON in one line, as the connector writes it."""
    return json.dumps(root, separators=(",", ":"), ensure_ascii=False)


def _root(text: str) -> dict[str, Any]:
    # What the connector would refuse is not edited.
    composite.read(text)
    root: dict[str, Any] = json.loads(text)
    return unpack(root["packed"]) if "packed" in root else root


def _sections(root: dict[str, Any], names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [root[name] for name in names if name in root]


def _epoch(epochs: Positions, topic: str, partition: int, moved: Positions) -> int:
    return -1 if partition in moved.get(topic, {}) else epochs[topic].get(partition, -1)


def _text_keys(positions: Positions) -> dict[str, dict[str, int]]:
    return {topic: {str(p): of[p] for p in sorted(of)} for topic, of in sorted(positions.items())}
