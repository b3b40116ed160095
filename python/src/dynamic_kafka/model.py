"""Streams and the clusters they live on, as a metadata service tells them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from typing import Literal

from dynamic_kafka._values import option_text
from dynamic_kafka.offsets import OffsetsInitializer

State = Literal["active", "draining"]
SUBSCRIPTIONS = ("topics", "topic_pattern", "partitions")


@dataclass(frozen=True, repr=False)
class ClusterMetadata:
    """What a stream has on one cluster. Immutable; its repr shows no property but the bootstrap servers.

    The topics are told in one of three ways: ``topics``, ``topic_pattern`` or ``partitions``.

    Attributes:
        topics: Topics of the stream on this cluster.
        properties: Kafka client properties without the ``kafka.`` prefix; ``bootstrap.servers`` is required.
        starting_offsets: Where topics start when they are new to the query: ``earliest``, ``latest``,
            ``committed``, JSON by cluster, or an OffsetsInitializer. None: the query's options decide.
        stopping_offsets: Where reading ends, in the same forms. None: the query's options decide.
        state: ``active`` (default), or ``draining``: read up to the end it has now, then retired.
        topic_pattern: A Java regular expression: every topic whose whole name matches, as topics come and go.
        partitions: Some partitions of topics, by topic.
        write: Whether the stream is written to this cluster; reading it does not depend on this.
    """

    topics: Collection[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    starting_offsets: str | OffsetsInitializer | None = None
    stopping_offsets: str | OffsetsInitializer | None = None
    state: State = "active"
    topic_pattern: str | None = None
    partitions: Mapping[str, Collection[int]] | None = None
    write: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Takes copies, so that later changes of what was given in change nothing here."""
        if isinstance(self.topics, str):
            raise TypeError(f"topics is a list of topic names, not the str '{self.topics}'")
        topics = sorted(self.topics) if isinstance(self.topics, Set) else self.topics
        properties = {str(key): option_text(str(key), value) for key, value in self.properties.items()}
        object.__setattr__(self, "topics", tuple(topics))
        object.__setattr__(self, "properties", properties)
        if self.partitions is not None:
            partitions = {topic: _numbers(topic, numbers) for topic, numbers in self.partitions.items()}
            object.__setattr__(self, "partitions", partitions)
        given = [name for name in SUBSCRIPTIONS if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(f"only one of 'topics', 'topic_pattern' and 'partitions', not {' and '.join(given)}")
        if self.state not in ("active", "draining"):
            raise ValueError(f"state is 'active' or 'draining', not {self.state!r}")
        if not isinstance(self.write, bool):
            raise TypeError(f"write is True or False, not {self.write!r}")

    def __hash__(self) -> int:
        """By what is subscribed to, state and write; properties and offsets only take part in equality."""
        return hash((self.topics, self.topic_pattern, tuple(self.partitions or ()), self.state, self.write))

    @property
    def subscription(self) -> tuple[str, str]:
        """Which of the three ways tells the topics, and what it tells, for people."""
        if self.topic_pattern is not None:
            return "topic_pattern", self.topic_pattern
        if self.partitions is not None:
            parts = (f"{topic} ({', '.join(map(str, numbers))})" for topic, numbers in self.partitions.items())
            return "partitions", ", ".join(parts)
        return "topics", ", ".join(self.topics)

    def __repr__(self) -> str:
        """Without credentials."""
        return (
            f"ClusterMetadata({self._told()}, "
            f"bootstrap.servers={self.properties.get('bootstrap.servers')!r}, "
            f"state={self.state!r}, write={self.write})"
        )

    def _told(self) -> str:
        if self.topic_pattern is not None:
            return f"topic_pattern={self.topic_pattern!r}"
        return f"topics={list(self.topics)}" if self.partitions is None else f"partitions={self.partitions}"


def _numbers(topic: str, numbers: Collection[int]) -> tuple[int, ...]:
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in numbers):
        raise ValueError(f"partitions of topic '{topic}' are numbers from 0 on, not {list(numbers)}")
    return tuple(sorted(set(numbers)))


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
