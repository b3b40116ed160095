"""Composite offsets, version 1: ``docs/semantics.md``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynamic_kafka._tools.checkpoint.error import CheckpointError

VERSION = 1
_SECTIONS = ("version", "clusters", "entered", "retained", "draining", "ends")

Positions = dict[str, dict[int, int]]
"""Offsets by topic and partition."""


@dataclass(frozen=True)
class Retained:
    """Positions of what has left.

    Attributes:
        since_ms: When the last of them left.
        positions: The positions.
        drained: Topics that left because they were read to their drain target.
    """

    since_ms: int
    positions: Positions
    drained: frozenset[str]


@dataclass(frozen=True)
class CompositeOffset:
    """Position in all clusters at once; every section by cluster id."""

    clusters: dict[str, Positions]
    entered: dict[str, Positions] = field(default_factory=dict)
    retained: dict[str, Retained] = field(default_factory=dict)
    draining: dict[str, Positions] = field(default_factory=dict)
    ends: dict[str, Positions] = field(default_factory=dict)


def is_composite(text: str) -> bool:
    """Whether an offset is one of this source, of whatever version: the offset log has those of all sources."""
    try:
        root = json.loads(text)
    except json.JSONDecodeError:
        return False
    # Spark's own Kafka source could have a topic named "version": that would be a mapping.
    return isinstance(root, dict) and isinstance(root.get("version"), int) and "clusters" in root


def read(text: str) -> CompositeOffset:
    """Reads an offset as strictly as the connector: to overlook a section could hide records.

    Args:
        text: One for which :func:`is_composite` holds.

    Raises:
        CheckpointError: for another version, and for what no version has.
    """
    root = json.loads(text)
    if root["version"] != VERSION:
        raise CheckpointError(
            f"the offset is of version {root['version']}, and this release reads version {VERSION}; "
            "use the release that wrote the checkpoint, or a later one"
        )
    unknown = [name for name in root if name not in _SECTIONS]
    if unknown:
        raise CheckpointError(f"the offset has a section '{unknown[0]}' that version {VERSION} has not")
    retained = _mapping(root.get("retained", {}), "retained")
    return CompositeOffset(
        clusters=_by_cluster(root, "clusters"),
        entered=_by_cluster(root, "entered"),
        retained={id: _retained(id, below) for id, below in retained.items()},
        draining=_by_cluster(root, "draining"),
        ends={id: _ends(id, below) for id, below in _mapping(root.get("ends", {}), "ends").items()},
    )


def _by_cluster(root: Mapping[str, Any], section: str) -> dict[str, Positions]:
    below = _mapping(root.get(section, {}), section)
    return {cluster: _positions(topics, f"{section}.{cluster}") for cluster, topics in below.items()}


def _retained(cluster: str, node: Any) -> Retained:
    where = f"retained.{cluster}"
    fields = _mapping(node, where)
    unknown = [name for name in fields if name not in ("since", "topics", "drained")]
    if unknown:
        raise CheckpointError(f"the offset has an unknown field '{unknown[0]}' in {where}")
    return Retained(
        since_ms=_number(fields.get("since"), f"{where}.since"),
        positions=_positions(fields.get("topics"), f"{where}.topics"),
        drained=frozenset(map(str, fields.get("drained", ()))),
    )


def _ends(cluster: str, node: Any) -> Positions:
    where = f"ends.{cluster}"
    topics = _mapping(node, where)
    for topic, entry in topics.items():
        unknown = [name for name in _mapping(entry, f"{where}.{topic}") if name not in ("by", "offsets")]
        if unknown:
            raise CheckpointError(f"the offset has an unknown field '{unknown[0]}' in {where}.{topic}")
    return _positions({topic: entry.get("offsets") for topic, entry in topics.items()}, where)


def _positions(node: Any, where: str) -> Positions:
    return {
        topic: {
            _number(int(name) if name.isdecimal() else None, f"{where}.{topic}"): _number(
                offset, f"{where}.{topic}.{name}"
            )
            for name, offset in _mapping(partitions, f"{where}.{topic}").items()
        }
        for topic, partitions in _mapping(node, where).items()
    }


def _mapping(node: Any, where: str) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise CheckpointError(f"{where} in the offset is not a JSON object")
    return node


def _number(node: Any, where: str) -> int:
    if not isinstance(node, int) or isinstance(node, bool) or node < 0:
        raise CheckpointError(f"{where} in the offset is not a number of at least 0")
    return node
