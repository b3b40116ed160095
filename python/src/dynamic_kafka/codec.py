"""Streams to the document that the connector reads: the JSON form of the metadata file, version 1."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dynamic_kafka.model import ClusterMetadata, KafkaStream
from dynamic_kafka.offsets import OffsetsInitializer

VERSION = 1


def document(streams: Iterable[KafkaStream]) -> dict[str, Any]:
    """The streams as a metadata document.

    A cluster's properties stand in the document once, so all streams have to give the same ones.

    Raises:
        ValueError: for two streams of one id, and for two that give one cluster different properties.
    """
    clusters: dict[str, Any] = {}
    by_id: dict[str, Any] = {}
    first: dict[str, str] = {}
    for stream in streams:
        if not isinstance(stream, KafkaStream):
            raise TypeError(f"streams are KafkaStream, not {type(stream).__name__}")
        if stream.stream_id in by_id:
            raise ValueError(f"stream '{stream.stream_id}' is given twice")
        by_id[stream.stream_id] = {"clusters": {id: _entry(id, m) for id, m in stream.clusters.items()}}
        for cluster, metadata in stream.clusters.items():
            properties = dict(metadata.properties)
            known = clusters.setdefault(cluster, {"properties": properties})["properties"]
            other = first.setdefault(cluster, stream.stream_id)
            if known != properties:
                # Names only: values may be credentials.
                names = sorted(k for k in known.keys() | properties.keys() if known.get(k) != properties.get(k))
                raise ValueError(
                    f"streams '{other}' and '{stream.stream_id}' give cluster '{cluster}' "
                    f"different properties: {', '.join(names)}"
                )
    return {"version": VERSION, "clusters": clusters, "streams": by_id}


def document_text(streams: Iterable[KafkaStream]) -> str:
    """The document as JSON text."""
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
    return entry
