"""Metadata files and their faults."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from .sink import replace


class MetadataFile:
    """A document that a test changes, and its file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._clusters: dict[str, dict[str, Any]] = {}
        self._streams: dict[str, dict[str, Any]] = {}

    def cluster(self, cluster_id: str, bootstrap_servers: str, **properties: str) -> MetadataFile:
        """Set a cluster's address and properties; `_` in their names stands for `.`."""
        more = {name.replace("_", "."): value for name, value in properties.items()}
        self._clusters[cluster_id] = {"properties": {"bootstrap.servers": bootstrap_servers, **more}}
        return self

    def stream(self, stream: str, clusters: Mapping[str, Sequence[str]], **entry: Any) -> MetadataFile:
        """Set the clusters and topics of a stream; `entry` is added to each of its clusters."""
        self._streams[stream] = {
            "clusters": {cluster: {"topics": list(topics), **entry} for cluster, topics in clusters.items()}
        }
        return self

    def set_entry(self, stream: str, cluster: str, topics: Sequence[str], **more: Any) -> MetadataFile:
        """Set one cluster of a stream."""
        entry = {"topics": list(topics), **more}
        self._streams.setdefault(stream, {"clusters": {}})["clusters"][cluster] = entry
        return self

    def history(self, stream: str, **history: Any) -> MetadataFile:
        """Set the history of a stream; without arguments it has none."""
        self._streams[stream].pop("history", None)
        if history:
            self._streams[stream]["history"] = history
        return self

    def without(self, stream: str, cluster: str) -> MetadataFile:
        """Remove a cluster from a stream."""
        self._streams[stream]["clusters"].pop(cluster, None)
        return self

    def document(self) -> dict[str, Any]:
        """The document, with those clusters only that streams use, as a service would return it."""
        used = {cluster for stream in self._streams.values() for cluster in stream["clusters"]}
        clusters = {cluster: text for cluster, text in self._clusters.items() if cluster in used}
        return copy.deepcopy({"version": 1, "clusters": clusters, "streams": self._streams})

    def write(self) -> MetadataFile:
        """Replace the file atomically: readers see the old content or the new one."""
        replace(self.path, json.dumps(self.document()))
        return self

    @contextmanager
    def half_written(self) -> Iterator[None]:
        """Rewrite the file in place as YAML, and run the body when it is half written.

        It is cut within the streams at the start of a line, so that the first part can be a valid document.
        """
        text = yaml.safe_dump(self.document(), sort_keys=True)
        cut = text.rindex("\n", 0, len(text) - 2) + 1
        with self.path.open("w") as file:
            file.write(text[:cut])
            file.flush()
            yield
            file.write(text[cut:])

    def write_text(self, text: str) -> None:
        """Write any text in place."""
        self.path.write_text(text)

    def remove(self) -> None:
        """Delete the file: the service is down."""
        self.path.unlink(missing_ok=True)
