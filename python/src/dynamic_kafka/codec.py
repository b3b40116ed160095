"""Converts streams to a metadata document, version 1 of the format in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from dynamic_kafka.model import ClusterMetadata, History, KafkaStream
from dynamic_kafka.offsets import OffsetsInitializer

VERSION = 1


def document(streams: Iterable[KafkaStream]) -> dict[str, Any]:
    """Returns streams as a metadata document, version 1 of the format.

    The document contains the properties of each cluster once, so they must be the same in all streams.

    Args:
        streams: The streams, each id once.

    Returns:
        A dict that ``json.dumps`` and YAML libraries can write.

    Raises:
        TypeError: if an element is not a ``KafkaStream``.
        ValueError: if two streams have the same id, or specify different properties for the same cluster.
    """
    clusters: dict[str, Any] = {}
    by_id: dict[str, Any] = {}
    first: dict[str, str] = {}
    for stream in streams:
        if not isinstance(stream, KafkaStream):
            raise TypeError(f"streams must be KafkaStream, not {type(stream).__name__}")
        if stream.stream_id in by_id:
            raise ValueError(f"stream '{stream.stream_id}' is duplicate")
        by_id[stream.stream_id] = {
            "clusters": {id: _entry(id, m) for id, m in stream.clusters.items()},
            **_options(stream.format_options),
            **_history(stream.history),
        }
        for cluster, metadata in stream.clusters.items():
            properties = dict(metadata.properties)
            known = clusters.setdefault(cluster, {"properties": properties})["properties"]
            if metadata.replaces is not None:
                clusters[cluster]["replaces"] = metadata.replaces
            other = first.setdefault(cluster, stream.stream_id)
            if known != properties:
                # Names only: values may be credentials.
                names = sorted(k for k in known.keys() | properties.keys() if known.get(k) != properties.get(k))
                raise ValueError(
                    f"streams '{other}' and '{stream.stream_id}' specify different properties for "
                    f"cluster '{cluster}': {', '.join(names)}"
                )
    return {"version": VERSION, "clusters": clusters, "streams": by_id}


def document_text(streams: Iterable[KafkaStream]) -> str:
    """Returns the document as JSON text, as :func:`document` does."""
    return json.dumps(document(streams), separators=(",", ":"))


def _topics(metadata: ClusterMetadata) -> dict[str, Any]:
    if metadata.topic_pattern is not None:
        return {"topic_pattern": metadata.topic_pattern}
    if metadata.partitions is not None:
        return {"partitions": {topic: list(numbers) for topic, numbers in metadata.partitions.items()}}
    return {"topics": list(metadata.topics)}


def _entry(cluster: str, metadata: ClusterMetadata) -> dict[str, Any]:
    entry: dict[str, Any] = {**_topics(metadata), "state": metadata.state}
    if not metadata.write:
        entry["write"] = False
    for name in ("starting_offsets", "stopping_offsets"):
        offsets = getattr(metadata, name)
        if isinstance(offsets, OffsetsInitializer):
            offsets = offsets.to_metadata(cluster)
        if offsets is not None:
            entry[name] = offsets
    registry = {name.removeprefix("registry."): value for name, value in metadata.format_options.items()}
    return entry | {"registry": registry} if registry else entry


def _options(options: Mapping[str, str]) -> dict[str, Any]:
    return {"options": dict(options)} if options else {}


def _history(history: History | None) -> dict[str, Any]:
    if history is None:
        return {}
    found: dict[str, Any] = {"format": history.format, "path": history.path, **_options(history.options)}
    return {"history": found if history.cluster is None else found | {"cluster": history.cluster}}
