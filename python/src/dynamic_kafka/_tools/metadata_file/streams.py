"""The streams of a document without errors."""

from __future__ import annotations

from typing import Any, cast

from dynamic_kafka._tools.metadata_file.checks import flink_cluster_id, positions_json
from dynamic_kafka._tools.metadata_file.formats import format_options, has_registry
from dynamic_kafka._tools.metadata_file.place import Path
from dynamic_kafka._tools.metadata_file.tree import Tree
from dynamic_kafka.model import ClusterMetadata, History, KafkaStream, State


def streams_of(tree: Tree) -> dict[str, KafkaStream]:
    """Returns the streams by id, in the order of the document, with property values as they are written."""
    streams = _flink(tree) if isinstance(tree.value, list) else _version1(tree)
    return {stream.stream_id: stream for stream in streams}


def _version1(tree: Tree) -> list[KafkaStream]:
    properties = {
        id: {name: tree.text(("clusters", id, "properties", name)) for name in cluster["properties"]}
        for id, cluster in tree.value.get("clusters", {}).items()
    }
    registries = {
        id: format_options(tree, ("clusters", id), {"registry": cluster["registry"]})
        for id, cluster in tree.value.get("clusters", {}).items()
        if "registry" in cluster
    }
    replaces = {
        id: tree.text(("clusters", id, "replaces"))
        for id, cluster in tree.value.get("clusters", {}).items()
        if "replaces" in cluster
    }
    streams = []
    for id, stream in tree.value["streams"].items():
        clusters = {}
        of_stream = format_options(tree, ("streams", id), stream)
        for cluster, entry in stream["clusters"].items():
            path = ("streams", id, "clusters", cluster)
            of_entry = format_options(tree, path, entry)
            if not has_registry(of_stream) and not has_registry(of_entry):
                of_entry = registries.get(cluster, {}) | of_entry
            clusters[cluster] = ClusterMetadata(
                entry.get("topics", ()),
                properties[cluster],
                _position(tree, path, entry, "starting_offsets", "startingOffsets"),
                _position(tree, path, entry, "stopping_offsets", "stoppingOffsets"),
                cast(State, entry.get("state", "active")),
                entry.get("topic_pattern"),
                _partitions(tree, path, entry),
                write=entry.get("write", True),
                format_options=of_entry,
                replaces=replaces.get(cluster),
            )
        streams.append(KafkaStream(id, clusters, format_options=of_stream, history=_history(tree, id, stream)))
    return streams


def _history(tree: Tree, stream: str, part: dict[str, Any]) -> History | None:
    if "history" not in part:
        return None
    path, found = ("streams", stream, "history"), part["history"]
    options = {name: tree.text((*path, "options", name)) for name in found.get("options", {})}
    cluster = tree.text((*path, "cluster")) if "cluster" in found else None
    return History(found["format"], found["path"], options, cluster)


def _position(tree: Tree, path: Path, entry: dict[str, Any], *spellings: str) -> str | None:
    for key in spellings:
        if key in entry:
            at = (*path, key)
            return positions_json(tree, at, entry[key]) if isinstance(entry[key], dict) else tree.text(at)
    return None


def _partitions(tree: Tree, path: Path, entry: dict[str, Any]) -> dict[str, list[int]] | None:
    if "partitions" not in entry:
        return None
    return {
        topic: [int(tree.text((*path, "partitions", topic, index))) for index in range(len(numbers))]
        for topic, numbers in entry["partitions"].items()
    }


def _flink(tree: Tree) -> list[KafkaStream]:
    streams = []
    for index, stream in enumerate(tree.value):
        clusters = {}
        for at, entry in enumerate(stream["clusterMetadataList"]):
            path = (index, "clusterMetadataList", at)
            servers = {"bootstrap.servers": tree.text((*path, "bootstrapServers"))}
            clusters[flink_cluster_id(tree, path, entry)] = ClusterMetadata(entry["topics"], servers)
        streams.append(KafkaStream(tree.text((index, "streamId")), clusters))
    return streams
