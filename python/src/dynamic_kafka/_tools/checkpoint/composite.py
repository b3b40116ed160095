"""Reads composite offsets, which ``docs/semantics.md`` describes."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.packed import unpack

VERSION = 2
_LARGEST_INT = 2**31 - 1
_LARGEST_OFFSET = 2**63 - 1
_SECTIONS = (
    "version",
    "clusters",
    "entered",
    "retained",
    "draining",
    "ends",
    "identities",
    "earlier",
    "history",
)

Positions = dict[str, dict[int, int]]
"""Offsets by topic and partition."""


@dataclass(frozen=True)
class RetainedTopic:
    """Positions of a topic that was removed, or of partitions that Kafka no longer has.

    Attributes:
        since_ms: When the last of them was removed, in milliseconds since 1970-01-01 UTC.
        offsets: Next offsets by partition.
        id: Topic id of Kafka. None: not known.
        epochs: Leader epochs by partition, as far as they are known.
    """

    since_ms: int
    offsets: dict[int, int]
    id: str | None = None
    epochs: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Retained:
    """Positions of removed topics of a cluster.

    Attributes:
        topics: The topics by name.
        drained: Topics that were removed after they had been read to their drain target.
    """

    topics: dict[str, RetainedTopic]
    drained: frozenset[str]


@dataclass(frozen=True)
class Identity:
    """What Kafka calls a cluster and the topics that are read.

    Attributes:
        cluster: The ``cluster.id`` of Kafka. None: not known.
        topics: Topic ids by name.
        epochs: Leader epochs of the positions, as far as they are known.
        entered: Leader epochs of the positions where partitions entered, as far as they are known.
    """

    cluster: str | None
    topics: dict[str, str]
    epochs: Positions = field(default_factory=dict)
    entered: Positions = field(default_factory=dict)


@dataclass(frozen=True)
class EarlierEntries:
    """Where partitions entered in a batch before, which Spark may not have logged.

    Attributes:
        batch: Digest of the end offset of this batch.
        entered: Positions by cluster id.
        epochs: Leader epochs of these positions by cluster id, as far as they are known.
    """

    batch: str
    entered: dict[str, Positions]
    epochs: dict[str, Positions] = field(default_factory=dict)


@dataclass(frozen=True)
class CompositeOffset:
    """The position of a query in all clusters. Every section but ``earlier`` and ``history`` is by cluster id.

    Attributes:
        history: The number of files of histories that are read, by stream id. Empty once Kafka is read.
    """

    clusters: dict[str, Positions]
    entered: dict[str, Positions] = field(default_factory=dict)
    retained: dict[str, Retained] = field(default_factory=dict)
    draining: dict[str, Positions] = field(default_factory=dict)
    ends: dict[str, Positions] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    earlier: tuple[EarlierEntries, ...] = ()
    history: dict[str, int] = field(default_factory=dict)


def is_composite(text: str) -> bool:
    """Whether a text is a composite offset of any version; the offset log has the offsets of all sources."""
    try:
        root = json.loads(text)
    except json.JSONDecodeError:
        return False
    # In an offset of Spark's Kafka source, "version" could be a topic, whose value is an object.
    return (
        isinstance(root, dict)
        and isinstance(root.get("version"), int)
        and ("clusters" in root or isinstance(root.get("packed"), str))
    )


def read(text: str) -> CompositeOffset:
    """Reads an offset as strictly as the connector does: positions of an ignored section would be missing.

    Raises:
        CheckpointError: if the text is not a composite offset of this version.
    """
    try:
        root = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError:
        raise _invalid("not JSON") from None
    if not isinstance(root, dict):
        raise _invalid("not a JSON object")
    version = root.get("version")
    if version is None or isinstance(version, dict):
        raise _invalid("field 'version' is missing; the offset was not written by this connector")
    if type(version) is not int or version != VERSION:
        raise CheckpointError(
            f"A composite offset in the checkpoint has version {json.dumps(version)}, but this release supports "
            f"version {VERSION}. Use the release that wrote the checkpoint, or a later one."
        )
    if "packed" in root:
        for name in root:
            if name not in ("version", "packed"):
                raise _invalid(f"unknown section '{name}' beside 'packed'")
        root = unpack(root["packed"])
    for name in root:
        if name not in _SECTIONS:
            raise _invalid(f"unknown section '{name}'")
    if "clusters" not in root:
        raise _invalid("section 'clusters' is missing")
    clusters = _by_cluster(root["clusters"], "clusters")
    entered = _by_cluster(root.get("entered", {}), "entered")
    retained = _mapping(root.get("retained", {}), "retained")
    return CompositeOffset(
        clusters=clusters,
        entered=entered,
        retained={id: _retained(id, below) for id, below in retained.items()},
        draining=_by_cluster(root.get("draining", {}), "draining"),
        ends={id: _ends(id, below) for id, below in _mapping(root.get("ends", {}), "ends").items()},
        identities={
            id: _identity(id, below, clusters.get(id, {}), entered.get(id, {}))
            for id, below in _mapping(root.get("identities", {}), "identities").items()
        },
        earlier=tuple(
            _earlier(entry, f"earlier[{index}]")
            for index, entry in enumerate(_list(root.get("earlier", []), "earlier"))
        ),
        history={
            id: _number(files, f"history.{id}")
            for id, files in _mapping(root.get("history", {}), "history").items()
        },
    )


def _earlier(node: Any, where: str) -> EarlierEntries:
    fields = _mapping(node, where)
    _check_fields(fields, ("batch", "entered", "epochs"), where)
    for name in ("entered", "batch"):
        if name not in fields:
            raise _invalid(f"field '{name}' is missing in {where}")
    entered = _by_cluster(fields["entered"], f"{where}.entered")
    epochs = _mapping(fields.get("epochs", {}), f"{where}.epochs")
    return EarlierEntries(
        _text(fields["batch"], f"{where}.batch"),
        entered,
        {id: _epochs(below, entered.get(id, {}), f"{where}.epochs.{id}") for id, below in epochs.items()},
    )


def _by_cluster(node: Any, section: str) -> dict[str, Positions]:
    return {
        cluster: _positions(topics, f"{section}.{cluster}") for cluster, topics in _mapping(node, section).items()
    }


def _retained(cluster: str, node: Any) -> Retained:
    where = f"retained.{cluster}"
    fields = _mapping(node, where)
    _check_fields(fields, ("topics", "drained"), where)
    if "topics" not in fields:
        raise _invalid(f"field 'topics' is missing in {where}")
    drained = fields.get("drained", [])
    if not isinstance(drained, list):
        raise _invalid(f"{where}.drained is not a JSON array")
    below = _mapping(fields["topics"], f"{where}.topics")
    topics = {topic: _retained_topic(entry, f"{where}.topics.{topic}") for topic, entry in below.items()}
    return Retained(topics, frozenset(map(str, drained)))


def _retained_topic(node: Any, where: str) -> RetainedTopic:
    fields = _mapping(node, where)
    _check_fields(fields, ("since", "id", "offsets", "epochs"), where)
    since = _number(fields.get("since"), f"{where}.since")
    if "offsets" not in fields:
        raise _invalid(f"field 'offsets' is missing in {where}")
    offsets = _partitions(fields["offsets"], f"{where}.offsets")
    return RetainedTopic(
        since,
        offsets,
        _text(fields["id"], f"{where}.id") if "id" in fields else None,
        _epochs_of(fields["epochs"], offsets, f"{where}.epochs") if "epochs" in fields else {},
    )


def _identity(cluster: str, node: Any, positions: Positions, entered: Positions) -> Identity:
    where = f"identities.{cluster}"
    fields = _mapping(node, where)
    _check_fields(fields, ("cluster", "topics", "epochs", "entered"), where)
    topics = _mapping(fields.get("topics", {}), f"{where}.topics")
    return Identity(
        _text(fields["cluster"], f"{where}.cluster") if "cluster" in fields else None,
        {topic: _text(id, f"{where}.topics.{topic}") for topic, id in topics.items()},
        _epochs(fields.get("epochs", {}), positions, f"{where}.epochs"),
        _epochs(fields.get("entered", {}), entered, f"{where}.entered"),
    )


def _epochs(node: Any, positions: Positions, where: str) -> Positions:
    return {
        topic: _epochs_of(below, positions.get(topic, {}), f"{where}.{topic}")
        for topic, below in _mapping(node, where).items()
    }


def _epochs_of(node: Any, offsets: dict[int, int], where: str) -> dict[int, int]:
    """One number for all partitions, or one for each in their order, where -1 is unknown."""
    if not isinstance(node, list):
        return dict.fromkeys(offsets, _epoch(node, where))
    if len(node) != len(offsets):
        raise _invalid(f"{where} has {len(node)} epochs for {len(offsets)} partitions")
    each = zip(sorted(offsets), node, strict=True)
    return {partition: _epoch(epoch, where) for partition, epoch in each if epoch != -1 or type(epoch) is not int}


def _epoch(node: Any, where: str) -> int:
    if type(node) is not int or not 0 <= node <= _LARGEST_INT:
        raise _invalid(f"{where} is not a leader epoch: {json.dumps(node)}")
    return node


def _ends(cluster: str, node: Any) -> Positions:
    found = {}
    for topic, entry in _mapping(node, f"ends.{cluster}").items():
        where = f"ends.{cluster}.{topic}"
        _check_fields(_mapping(entry, where), ("by", "offsets"), where)
        if not isinstance(entry.get("by"), str):
            raise _invalid(f"text field 'by' is missing in {where}")
        if "offsets" not in entry:
            raise _invalid(f"field 'offsets' is missing in {where}")
        found[topic] = _partitions(entry["offsets"], f"{where}.offsets")
    return found


def _positions(node: Any, where: str) -> Positions:
    return {topic: _partitions(below, f"{where}.{topic}") for topic, below in _mapping(node, where).items()}


def _partitions(node: Any, where: str) -> dict[int, int]:
    found = {}
    for name, offset in _mapping(node, where).items():
        if not re.fullmatch(r"[0-9]{1,10}", name) or int(name) > _LARGEST_INT:
            raise _invalid(f"'{name}' at {where}.{name} is not a partition number")
        found[int(name)] = _number(offset, f"{where}.{name}")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _invalid("not JSON: a JSON object contains a key twice")
    return found


def _check_fields(node: Mapping[str, Any], known: Collection[str], where: str) -> None:
    for name in node:
        if name not in known:
            raise _invalid(f"unknown field '{name}' in {where}")


def _mapping(node: Any, where: str) -> dict[str, Any]:
    if not isinstance(node, dict):
        raise _invalid(f"{where} is not a JSON object")
    return node


def _list(node: Any, where: str) -> list[Any]:
    if not isinstance(node, list):
        raise _invalid(f"{where} is not a JSON array")
    return node


def _number(node: Any, where: str) -> int:
    if type(node) is not int or not 0 <= node <= _LARGEST_OFFSET:
        raise _invalid(f"{where} is not an integer of at least 0: {json.dumps(node)}")
    return node


def _text(node: Any, where: str) -> str:
    if not isinstance(node, str) or not node:
        raise _invalid(f"{where} is not a text: {json.dumps(node)}")
    return node


def _invalid(reason: str) -> CheckpointError:
    return CheckpointError(f"An offset in the checkpoint cannot be read: {reason}")
