"""Locations in a metadata document, as error texts show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Path = tuple["str | int", ...]
"""Keys and list indexes that lead from the root to a value."""


@dataclass(frozen=True)
class Place:
    """The names that lead to a value.

    Attributes:
        stream: Id of the stream, if the value is in a stream.
        cluster: Id of the cluster, if the value is in a cluster.
        key: A key of the format.
        names: Names below the key that the user chose, as pairs of kind and name.
    """

    stream: str | None = None
    cluster: str | None = None
    key: str | None = None
    names: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Returns a text such as ``stream 'orders', cluster 'blue', key 'topics'``."""
        known = (("stream", self.stream), ("cluster", self.cluster), ("key", self.key))
        return ", ".join(f"{kind} '{name}'" for kind, name in (*known, *self.names) if name is not None)

    def full_key(self) -> str | None:
        """Returns the key with the names below it, such as ``starting_offsets.orders.0``."""
        parts = [part for part in (self.key, *(name for _, name in self.names)) if part is not None]
        return ".".join(parts) or None


def place_of(path: Path, root: object) -> Place:
    """Returns the location that a path leads to.

    Args:
        path: A path in the document.
        root: The value of the document; in Flink's format, its entries contain the ids of streams and clusters.
    """
    if isinstance(root, list):
        return _in_flink(path, root)
    match path:
        case ("clusters", str(cluster), *rest):
            return _below(None, cluster, rest)
        case ("streams", str(stream), "clusters", str(cluster), *rest):
            return _below(stream, cluster, rest)
        case ("streams", str(stream), "history", *rest):
            keys = [part for part in rest if isinstance(part, str)]
            return Place(stream, None, "history", tuple(zip(("key", "option"), keys, strict=False)))
        case ("streams", str(stream), *rest):
            return _below(stream, None, rest)
        case _:
            return _below(None, None, path)


def _in_flink(path: Path, root: Sequence[object]) -> Place:
    match path:
        case (int(index), "clusterMetadataList", int(entry), *rest):
            stream = root[index]
            entries = stream["clusterMetadataList"] if isinstance(stream, Mapping) else []
            return _below(_named(stream, "streamId"), _named(entries[entry], "clusterId"), rest)
        case (int(index), *rest):
            return _below(_named(root[index], "streamId"), None, rest)
        case _:
            return Place()


def _named(entry: object, key: str) -> str | None:
    name = entry.get(key) if isinstance(entry, Mapping) else None
    return name if isinstance(name, str) else None


def _below(stream: str | None, cluster: str | None, rest: Sequence[str | int]) -> Place:
    keys = [part for part in rest if isinstance(part, str)]
    if not keys:
        return Place(stream, cluster)
    if keys[0] == "properties" and len(keys) > 1:
        return Place(stream, cluster, None, (("property", keys[1]),))
    return Place(stream, cluster, keys[0], tuple(zip(("topic", "partition"), keys[1:], strict=False)))
