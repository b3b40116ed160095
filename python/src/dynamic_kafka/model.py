"""Streams and the clusters they live on, as a metadata service tells them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import Literal

from dynamic_kafka._values import option_text
from dynamic_kafka.offsets import OffsetsInitializer

State = Literal["active", "draining"]


@dataclass(frozen=True, repr=False)
class ClusterMetadata:
    """What a stream has on one cluster. Immutable; its repr shows no property but the bootstrap servers.

    Attributes:
        topics: Topics of the stream on this cluster.
        properties: Kafka client properties without the ``kafka.`` prefix; ``bootstrap.servers`` is required.
        starting_offsets: Where topics start when they are new to the query: ``earliest``, ``latest``,
            ``committed``, JSON by cluster, or an OffsetsInitializer. None: the query's options decide.
        stopping_offsets: Where reading ends, in the same forms. None: the query's options decide.
        state: ``active`` (default), or ``draining``: read up to the end it has now, then retired.
    """

    topics: Collection[str]
    properties: Mapping[str, str]
    starting_offsets: str | OffsetsInitializer | None = None
    stopping_offsets: str | OffsetsInitializer | None = None
    state: State = "active"

    def __post_init__(self) -> None:
        """Takes copies, so that later changes of what was given in change nothing here."""
        if isinstance(self.topics, str):
            raise TypeError(f"topics is a list of topic names, not the str '{self.topics}'")
        topics = sorted(self.topics) if isinstance(self.topics, Set) else self.topics
        properties = {str(key): option_text(str(key), value) for key, value in self.properties.items()}
        object.__setattr__(self, "topics", tuple(topics))
        object.__setattr__(self, "properties", properties)
        if self.state not in ("active", "draining"):
            raise ValueError(f"state is 'active' or 'draining', not {self.state!r}")

    def __hash__(self) -> int:
        """By topics and state; properties and offsets only take part in equality."""
        return hash((self.topics, self.state))

    def __repr__(self) -> str:
        """Without credentials."""
        return (
            f"ClusterMetadata(topics={list(self.topics)}, "
            f"bootstrap.servers={self.properties.get('bootstrap.servers')!r}, state={self.state!r})"
        )


@dataclass(frozen=True)
class KafkaStream:
    """A logical stream. Immutable.

    Attributes:
        stream_id: The name that users subscribe to.
        clusters: What it has on each cluster, by cluster id.
    """

    stream_id: str
    clusters: Mapping[str, ClusterMetadata]

    def __post_init__(self) -> None:
        """Takes a copy of the mapping."""
        for cluster, metadata in self.clusters.items():
            if not isinstance(metadata, ClusterMetadata):
                raise TypeError(
                    f"stream '{self.stream_id}', cluster '{cluster}': "
                    f"a ClusterMetadata, not {type(metadata).__name__}"
                )
        object.__setattr__(self, "clusters", dict(self.clusters))

    def __hash__(self) -> int:
        """By id."""
        return hash(self.stream_id)
