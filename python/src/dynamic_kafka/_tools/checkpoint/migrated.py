"""What the first start with a checkpoint of ``migrate`` checks, as the connector's ``MigratedPositions`` does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from dynamic_kafka._tools.checkpoint.composite import CompositeOffset
from dynamic_kafka._tools.checkpoint.log import SourceId
from dynamic_kafka._tools.metadata_file.schema import did_you_mean
from dynamic_kafka.model import ClusterMetadata, KafkaStream


def is_migrated(checkpoint: Path, source: SourceId) -> bool:
    """Whether the query has planned no batch with this source, which stores its start and the topology before."""
    home = checkpoint / "sources" / str(source) / "dynamic-kafka"
    return not (home / "initial.json").is_file() and not any(home.glob("topology/*.json"))


def missing(
    offset: CompositeOffset, streams: Mapping[str, KafkaStream]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """What the metadata lack of the positions.

    Args:
        offset: The positions.
        streams: The metadata.

    Returns:
        Clusters with a text that suggests another id or is empty, and topics by cluster.
    """
    entries: dict[str, list[ClusterMetadata]] = {}
    for stream in streams.values():
        for id, entry in stream.clusters.items():
            entries.setdefault(id, []).append(entry)
    replaced = {entry.replaces for of in entries.values() for entry in of}
    read = {
        id: topics
        for id, topics in offset.clusters.items()
        if id not in replaced and offset.identities.get(id) is None
    }
    clusters = {id: did_you_mean(id, entries.keys() - offset.clusters.keys()) for id in read if id not in entries}
    topics = {
        id: [topic for topic in sorted(read[id]) if not any(_selects(entry, topic) for entry in entries[id])]
        for id in read
        if id in entries
    }
    return clusters, {id: names for id, names in topics.items() if names}


def mismatch(offset: CompositeOffset, streams: Mapping[str, KafkaStream]) -> str | None:
    """Why the first start fails with these metadata; None if it does not."""
    clusters, topics = missing(offset, streams)
    texts = [f"cluster '{id}'" for id in clusters]
    texts += [f"topic '{topic}' on cluster '{id}'" for id, names in topics.items() for topic in names]
    if not texts:
        return None
    suggestion = next((text for text in clusters.values() if text), "")
    return (
        f"the query fails with MIGRATION_MISMATCH: the metadata lack {', '.join(texts)}.{suggestion} "
        "'rename-cluster' gives a cluster of the checkpoint its id of the metadata"
    )


def _selects(entry: ClusterMetadata, topic: str) -> bool:
    if entry.topic_pattern is None:
        return topic in entry.topics or topic in (entry.partitions or ())
    try:
        return re.fullmatch(entry.topic_pattern, topic) is not None
    except re.error:
        # A regular expression that only Java has is not judged.
        return True
