"""Streams with their clusters and topics, as metadata services return them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field
from typing import Literal, get_args

from dynamic_kafka._values import option_text
from dynamic_kafka.offsets import OffsetsInitializer
from dynamic_kafka.options import HistoryFormat

State = Literal["active", "draining", "removed"]
STATES: tuple[State, ...] = get_args(State)
SUBSCRIPTIONS = ("topics", "topic_pattern", "partitions")


@dataclass(frozen=True, repr=False)
class ClusterMetadata:
    """The topics of a stream on one cluster. Immutable.

    Exactly one of ``topics``, ``topic_pattern`` and ``partitions`` names the topics. The repr contains no property
    other than ``bootstrap.servers``. After Flink's ``ClusterMetadata`` (FLIP-246).

    Attributes:
        topics: Names of topics: a collection of str; stored as a tuple.
        properties: Kafka client properties without the prefix ``kafka.``, by name. ``bootstrap.servers`` is
            required.
        starting_offsets: Where a topic starts that is new to the query: ``earliest``, ``latest``, ``committed``,
            ``timestamp:<epoch ms>``, JSON ``{topic: {partition: offset}}``, or an ``OffsetsInitializer``. None:
            the options of the query apply.
        stopping_offsets: Where reading ends, in the same forms except ``earliest``. None: the options of the query
            apply.
        state: ``active`` (default), ``draining`` or ``removed``. A draining cluster is read up to the end that it
            has when its state changes, and is then removed. A removed cluster is not read from the next batch on,
            and its offsets are retained.
        topic_pattern: A Java regular expression that whole names of topics match. Topics are added and removed as
            they are created and deleted.
        partitions: Partition numbers, from 0, by topic.
        write: Whether queries that write to the stream write to this cluster (default: True). It has no effect on
            queries that read the stream.
        format_options: The registry of this cluster, with the names of the options of the data source:
            ``registry.url``. The format of records is that of the stream.
        replaces: Id of the cluster whose place this one takes: the option ``replacedClusterPolicy`` says where a
            query continues that has read that one. None: there is none.

    Raises:
        TypeError: if ``topics`` is a str, or ``write`` is not a bool.
        ValueError: if more than one of ``topics``, ``topic_pattern`` and ``partitions`` is given, a partition is
            not a number of 0 or more, ``state`` is another text, or ``format_options`` has more than a registry.
    """

    topics: Collection[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    starting_offsets: str | OffsetsInitializer | None = None
    stopping_offsets: str | OffsetsInitializer | None = None
    state: State = "active"
    topic_pattern: str | None = None
    partitions: Mapping[str, Collection[int]] | None = None
    write: bool = field(default=True, kw_only=True)
    format_options: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    replaces: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Copies mutable arguments, so that later changes of them have no effect here."""
        if isinstance(self.topics, str):
            raise TypeError(f"topics must be a list of topic names, not the str '{self.topics}'")
        topics = sorted(self.topics) if isinstance(self.topics, Set) else self.topics
        properties = {str(key): option_text(str(key), value) for key, value in self.properties.items()}
        object.__setattr__(self, "topics", tuple(topics))
        object.__setattr__(self, "properties", properties)
        object.__setattr__(self, "format_options", _options(self.format_options))
        for name in self.format_options:
            if not name.startswith("registry."):
                raise ValueError(
                    f"format_options of a cluster has '{name}', but the records of a stream have one format on "
                    "all clusters: make a KafkaStream for those of another format"
                )
        if self.partitions is not None:
            partitions = {topic: _numbers(topic, numbers) for topic, numbers in self.partitions.items()}
            object.__setattr__(self, "partitions", partitions)
        given = [name for name in SUBSCRIPTIONS if getattr(self, name)]
        if len(given) > 1:
            raise ValueError(
                f"specify only one of 'topics', 'topic_pattern' and 'partitions', not {' and '.join(given)}"
            )
        if self.state not in STATES:
            raise ValueError(f"state must be 'active', 'draining' or 'removed', not {self.state!r}")
        if not isinstance(self.write, bool):
            raise TypeError(f"write must be True or False, not {self.write!r}")

    def __hash__(self) -> int:
        """Hashes topics, state and write; properties and offsets take part in equality only."""
        return hash((self.topics, self.topic_pattern, tuple(self.partitions or ()), self.state, self.write))

    @property
    def subscription(self) -> tuple[str, str]:
        """The name of the attribute that names the topics, and its value as text."""
        if self.topic_pattern is not None:
            return "topic_pattern", self.topic_pattern
        if self.partitions is not None:
            parts = (f"{topic} ({', '.join(map(str, numbers))})" for topic, numbers in self.partitions.items())
            return "partitions", ", ".join(parts)
        return "topics", ", ".join(self.topics)

    def __repr__(self) -> str:
        """Returns a text without credentials."""
        return (
            f"ClusterMetadata({self._topics_text()}, "
            f"bootstrap.servers={self.properties.get('bootstrap.servers')!r}, "
            f"state={self.state!r}, write={self.write})"
        )

    def _topics_text(self) -> str:
        if self.topic_pattern is not None:
            return f"topic_pattern={self.topic_pattern!r}"
        return f"topics={list(self.topics)}" if self.partitions is None else f"partitions={self.partitions}"


def _options(options: Mapping[str, str]) -> dict[str, str]:
    return {name: option_text(name, value) for name, value in options.items()}


def _numbers(topic: str, numbers: Collection[int]) -> tuple[int, ...]:
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in numbers):
        raise ValueError(f"partitions of topic '{topic}' must be ints of 0 or more, not {list(numbers)}")
    return tuple(sorted(set(numbers)))


@dataclass(frozen=True)
class History:
    """Files with older records of a stream, which a new query reads before Kafka. Immutable.

    Attributes:
        format: Format of the files: ``parquet``, ``orc``, ``avro`` or ``json``; ``iceberg``: a table.
        path: The folder with the files, or one file; the name or the location of a table.
        options: Options of Spark's reader of this format. The checkpoint contains them, so they must not be
            secrets.
        cluster: Id of the cluster that the records are from. None: the files have a column ``cluster``, or the
            stream has one cluster.

    Raises:
        ValueError: if ``format`` is another one, or ``path`` is blank.
    """

    format: HistoryFormat
    path: str
    options: Mapping[str, str] = field(default_factory=dict)
    cluster: str | None = None

    def __post_init__(self) -> None:
        """Copies the mapping."""
        if self.format not in get_args(HistoryFormat):
            known = ", ".join(get_args(HistoryFormat))
            raise ValueError(f"format of a history must be one of {known}, not {self.format!r}")
        if not self.path.strip():
            raise ValueError("path of a history must not be blank")
        object.__setattr__(self, "options", _options(self.options))

    def __hash__(self) -> int:
        """Hashes format, path and cluster."""
        return hash((self.format, self.path, self.cluster))


@dataclass(frozen=True)
class KafkaStream:
    """A logical stream. Immutable. After Flink's ``KafkaStream`` (FLIP-246).

    Attributes:
        stream_id: The name that queries subscribe to.
        clusters: The topics of the stream on each cluster, by cluster id (1 to 128 letters, digits, ``.``, ``_``,
            ``-``).
        format_options: Options about the format of the records, with the names of the data source: ``format``,
            ``schema``, ``keyFormat``, ``json.timestampFormat``.
        history: Files that a new query reads before Kafka. None: there are none.

    Raises:
        TypeError: if a value of ``clusters`` is not a ``ClusterMetadata``, or ``history`` is not a ``History``.
    """

    stream_id: str
    clusters: Mapping[str, ClusterMetadata]
    format_options: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False)
    history: History | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Copies the mapping."""
        if not isinstance(self.history, History | None):
            raise TypeError(f"history must be a History, not {type(self.history).__name__}")
        for cluster, metadata in self.clusters.items():
            if not isinstance(metadata, ClusterMetadata):
                raise TypeError(
                    f"stream '{self.stream_id}', cluster '{cluster}': "
                    f"expected a ClusterMetadata, not {type(metadata).__name__}"
                )
        object.__setattr__(self, "clusters", dict(self.clusters))
        object.__setattr__(self, "format_options", _options(self.format_options))

    def __hash__(self) -> int:
        """Hashes the id."""
        return hash(self.stream_id)
