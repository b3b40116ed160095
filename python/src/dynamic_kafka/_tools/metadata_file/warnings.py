"""Warnings: content that the connector accepts and that is probably a mistake."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dynamic_kafka._tools.metadata_file.checks import Found, flink_cluster_id
from dynamic_kafka._tools.metadata_file.ddl import TYPES, unknown_types
from dynamic_kafka._tools.metadata_file.place import Path
from dynamic_kafka._tools.metadata_file.schema import did_you_mean
from dynamic_kafka._tools.metadata_file.tree import Tree
from dynamic_kafka.model import KafkaStream

_KAFKA = "kafka."
_BOOTSTRAP = "bootstrap.servers"
# As Kafka's clients read an entry of bootstrap.servers, and a port that exists.
_ADDRESS = re.compile(r"(?:[0-9A-Za-z%._-]*://)?\[?([0-9A-Za-z%._:-]+)\]?:([0-9]{1,5})")
_LARGEST_PORT = 65535


def warnings(tree: Tree, streams: Mapping[str, KafkaStream]) -> Found:
    """Returns path and reason of each warning for a document without errors."""
    if isinstance(tree.value, list):
        yield from _other_addresses(tree)
        clusters: dict[Path, Any] = {
            (index,): stream["clusterMetadataList"] for index, stream in enumerate(tree.value)
        }
    else:
        yield from _clusters(tree, {id for stream in streams.values() for id in stream.clusters})
        clusters = {("streams", id): stream["clusters"] for id, stream in tree.value["streams"].items()}
        for id, stream in tree.value["streams"].items():
            yield from _schema(tree, ("streams", id), stream)
    for path, found in clusters.items():
        if not found:
            yield path, "it has no cluster: polls of queries that read it fail, unless allowMissingStreams is true"


def _clusters(tree: Tree, used: set[str]) -> Found:
    for id, cluster in tree.value.get("clusters", {}).items():
        if id not in used:
            yield ("clusters", id), "no stream uses this cluster"
        for name in cluster["properties"]:
            if name.startswith(_KAFKA):
                right = name.removeprefix(_KAFKA)
                yield ("clusters", id, "properties", name), f"properties have no prefix here: write '{right}'"
        yield from _address(tree, ("clusters", id, "properties", _BOOTSTRAP))


def _address(tree: Tree, path: Path) -> Found:
    """Finds an address that Kafka's clients refuse. What a reference becomes is not known here."""
    text = tree.text(path)
    if "${" in text:
        return
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        address = _ADDRESS.fullmatch(entry)
        if not address or int(address[2]) > _LARGEST_PORT:
            yield path, f"'{entry}' is not host:port, so that no client can connect"


def _schema(tree: Tree, path: Path, part: Mapping[str, Any]) -> Found:
    """Finds types of columns that Spark does not have: reading the stream fails."""
    if "schema" in part:
        for word in unknown_types(tree.text((*path, "schema"))):
            yield (*path, "schema"), f"'{word}' is not a type of Spark.{did_you_mean(word.upper(), TYPES)}"


def _other_addresses(tree: Tree) -> Found:
    """Finds clusters with two addresses: a query that reads both streams fails."""
    first: dict[str, tuple[str, str]] = {}
    for index, stream in enumerate(tree.value):
        for at, entry in enumerate(stream["clusterMetadataList"]):
            path = (index, "clusterMetadataList", at)
            address = tree.text((*path, "bootstrapServers"))
            yield from _address(tree, (*path, "bootstrapServers"))
            other, known = first.setdefault(
                flink_cluster_id(tree, path, entry), (tree.text((index, "streamId")), address)
            )
            if known != address:
                yield (
                    (*path, "bootstrapServers"),
                    f"stream '{other}' specifies a different address for this cluster: "
                    "no query can read both streams",
                )
