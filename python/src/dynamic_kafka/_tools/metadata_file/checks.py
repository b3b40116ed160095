"""Checks that a JSON Schema cannot express: references to other parts of the document, and texts of positions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from dynamic_kafka._tools.metadata_file.place import Path
from dynamic_kafka._tools.metadata_file.positions import (
    LARGEST_PARTITION,
    BadPositionError,
    check_start,
    check_stop,
    whole_number,
)
from dynamic_kafka._tools.metadata_file.schema import did_you_mean, unknown_version
from dynamic_kafka._tools.metadata_file.tree import Tree

Found = Iterator[tuple[Path, str]]

CLUSTER_ID_RULE = "a cluster id has 1 to 128 letters, digits, '.', '_' or '-'"
_CLUSTER_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
POSITIONS: dict[str, Callable[[str], None]] = {
    "starting_offsets": check_start,
    "startingOffsets": check_start,
    "stopping_offsets": check_stop,
    "stoppingOffsets": check_stop,
}


def wrong(tree: Tree) -> Found:
    """Returns path and reason of each error. Ignores parts whose type the schema rejects."""
    return _flink(tree) if isinstance(tree.value, list) else _version1(tree)


def _version1(tree: Tree) -> Found:
    root = _mapping(tree.value)
    # A schema cannot distinguish 1.0 from 1.
    version = tree.text(("version",)) if "version" in root else "1"
    if version != "1":
        yield ("version",), unknown_version(version)
    known = _mapping(root.get("clusters"))
    replaces = {
        id: tree.text(("clusters", id, "replaces"))
        for id, cluster in known.items()
        if "replaces" in _mapping(cluster)
    }
    for id, former in replaces.items():
        if former == id:
            yield ("clusters", id, "replaces"), "a cluster cannot replace itself"
        elif not _CLUSTER_ID.fullmatch(former):
            yield ("clusters", id, "replaces"), f"'{former}' is not a valid cluster id: {CLUSTER_ID_RULE}"
    for stream, below in _mapping(root.get("streams")).items():
        entries = _mapping(_mapping(below).get("clusters"))
        for cluster, entry in entries.items():
            other = replaces.get(cluster)
            if (
                other
                and other != cluster
                and _state(entry) != "removed"
                and _state(entries.get(other)) == "active"
            ):
                yield (
                    ("streams", stream, "clusters", cluster),
                    f"it replaces cluster '{other}', which is active in the same stream; "
                    "set its 'state' to 'draining' or remove it",
                )
            path = ("streams", stream, "clusters", cluster)
            if cluster not in known:
                yield path, f"'clusters' has no cluster '{cluster}'.{did_you_mean(cluster, known)}"
            yield from _partitions(tree, entry, path)
            for key in POSITIONS.keys() & _mapping(entry).keys():
                yield from _position(tree, (*path, key), entry[key], POSITIONS[key])


def _state(entry: Any) -> Any:
    return entry.get("state", "active") if isinstance(entry, dict) else None


def _position(tree: Tree, path: Path, value: Any, check: Callable[[str], None]) -> Found:
    if isinstance(value, dict):
        bad = list(_not_numbers(tree, path, value))
        yield from bad
        if bad:
            return
        text = positions_json(tree, path, value)
    else:
        text = tree.text(path)
    try:
        check(text)
    except BadPositionError as e:
        # JSON is omitted, because the reason contains the location in it.
        yield path, str(e) if text.startswith("{") else f"'{text}' is invalid: {e}"


def _not_numbers(tree: Tree, path: Path, topics: dict[str, Any]) -> Found:
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict):
            yield (*path, topic), "must be a mapping"
            continue
        for partition in partitions:
            at = (*path, topic, partition)
            if whole_number(tree.text(at)) is None:
                yield at, "must be an integer"


def positions_json(tree: Tree, path: Path, topics: dict[str, Any]) -> str:
    """Returns a mapping of positions as the JSON of the option, with sorted keys."""
    positions = {
        topic: {partition: int(tree.text((*path, topic, partition))) for partition in sorted(partitions)}
        for topic, partitions in sorted(topics.items())
    }
    return json.dumps(positions, separators=(",", ":"))


def _flink(tree: Tree) -> Found:
    streams: set[str] = set()
    for index, stream in enumerate(tree.value):
        id = tree.text((index, "streamId")) if "streamId" in _mapping(stream) else None
        if id is not None and id in streams:
            yield (index, "streamId"), f"stream '{id}' is duplicate"
        streams |= {id} if id is not None else set()
        clusters: set[str] = set()
        for at, entry in enumerate(_list(_mapping(stream).get("clusterMetadataList"))):
            path = (index, "clusterMetadataList", at)
            if not {"clusterId", "bootstrapServers"} & _mapping(entry).keys():
                continue
            cluster = flink_cluster_id(tree, path, entry)
            if not _CLUSTER_ID.fullmatch(cluster):
                yield _bad_flink_id(cluster, path, entry)
            elif cluster in clusters:
                yield path, f"cluster '{cluster}' is duplicate"
            clusters.add(cluster)


def flink_cluster_id(tree: Tree, path: Path, entry: dict[str, Any]) -> str:
    """Returns ``clusterId``, or the address as in Flink; addresses with ``:`` are not valid ids here."""
    return tree.text((*path, "clusterId" if "clusterId" in entry else "bootstrapServers"))


def _bad_flink_id(cluster: str, path: Path, entry: dict[str, Any]) -> tuple[Path, str]:
    if "clusterId" in entry:
        return (*path, "clusterId"), f"'{cluster}' is not a valid cluster id: {CLUSTER_ID_RULE}"
    address = f"'{cluster}' of 'bootstrapServers'"
    return path, f"'clusterId' is missing, and {address} cannot replace it: {CLUSTER_ID_RULE}"


def _partitions(tree: Tree, entry: Any, path: Path) -> Found:
    for topic, numbers in _mapping(_mapping(entry).get("partitions")).items():
        seen: set[int] = set()
        for index in range(len(_list(numbers))):
            at = (*path, "partitions", topic, index)
            number = whole_number(tree.text(at), LARGEST_PARTITION)
            if number is None or number < 0:
                yield at, "must be a partition number of at least 0"
            elif number in seen:
                yield at, f"partition {number} is duplicate"
            else:
                seen.add(number)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
