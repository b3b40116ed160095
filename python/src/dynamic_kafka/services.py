"""Metadata services: the streams that exist, and the clusters and topics of each."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from dynamic_kafka._values import arguments
from dynamic_kafka.codec import document_text
from dynamic_kafka.model import KafkaStream

Duration = int | str | timedelta
"""Milliseconds, text such as ``"10s"``, or a timedelta."""


class KafkaMetadataService(ABC):
    """Base class of metadata services written in Python, after Flink's ``KafkaMetadataService`` (FLIP-246).

    The driver's JVM polls the service every ``streamMetadataDiscoveryIntervalMs`` (default: 30 s), one call at a
    time, on a separate thread. A poll fails if the service raises, if the poll takes longer than
    ``clusterRequestTimeoutMs`` (default: 60 s), or if the answer cannot be used. After a failed poll the query
    keeps the last good answer; it fails after more than ``streamMetadataDiscoveryFailureThreshold`` (default: 10)
    failed polls in a row.

    A poll also fails if the answer is empty, if a stream of ``streamIds`` is missing in it, or if a stream has no
    clusters. With the option ``allowMissingStreams``, these are removals instead. **Raise an exception rather than
    return an incomplete answer**: a cluster or topic that a stream no longer has, or a stream that
    ``streamPattern`` no longer finds, is removed from the query.

    The service needs a classic Spark session, and the Python process that started the query has to live as long
    as the query.
    """

    @abstractmethod
    def get_all_streams(self) -> Iterable[KafkaStream]:
        """Returns all streams. Called for queries that subscribe by ``streamPattern``.

        Returns:
            The streams, each id once.
        """

    @abstractmethod
    def describe_streams(self, stream_ids: list[str]) -> Mapping[str, KafkaStream]:
        """Returns streams by id. Called for queries that subscribe by ``streamIds``.

        Args:
            stream_ids: The ids that the query subscribes to.

        Returns:
            The streams by id. Leave out an unknown stream: the poll then fails, or, with
            ``allowMissingStreams``, the stream is removed from the query.
        """

    def is_cluster_active(self, cluster_id: str) -> bool:
        """Returns whether a cluster is active. Called for each cluster of the subscribed streams in every poll.

        Args:
            cluster_id: A cluster id of the last answer.

        Returns:
            False if the cluster is to be treated as removed, even if streams contain it. Default: True.
        """
        return True

    def close(self) -> None:  # noqa: B027 - optional: most services hold no resources
        """Releases resources. Called once when the Python process exits, if a query used the service."""


@dataclass(repr=False, eq=False)
class JvmMetadataService:
    """Base class of the metadata services that run in the driver's JVM, also with Spark Connect.

    All services have the same limits, in milliseconds, as text such as ``"10s"``, or as a timedelta. ``timeout``
    is the time limit of one request with its answer: 1 ms or more, by default 10 s. ``ttl`` says how long an
    answer is used again, by default not at all. Other values of them are a ``ValueError``.
    """

    _service: ClassVar[str]
    """The value of the option ``metadataService``."""

    _shown: ClassVar[tuple[str, ...]] = ()
    """The arguments that ``repr`` shows, in the case of options: no other argument, which may hold credentials."""

    def __post_init__(self) -> None:
        """Checks the arguments, and keeps them as they are now."""
        self._arguments = arguments(self, "")

    def to_options(self) -> dict[str, str]:
        """Returns the options ``metadataService`` and ``metadataService.<argument>``, as Spark takes them."""
        named = {f"metadataService.{name}": value for name, value in self._arguments.items()}
        return {"metadataService": self._service, **named}

    def __repr__(self) -> str:
        """Returns the name without the arguments that may hold credentials."""
        shown = ", ".join(repr(self._arguments.get(name, "")) for name in self._shown)
        return f"{type(self).__name__}({shown})"


@dataclass(repr=False, eq=False)
class FileMetadataService(JvmMetadataService):
    """Streams in a YAML or JSON file, version 1 of the metadata format or Flink's list of streams.

    Args:
        path: Path or Hadoop URI of the file, as the driver resolves it.
        ttl: See ``JvmMetadataService``.
    """

    _service = "file"
    _shown = ("path",)
    path: str | os.PathLike[str]
    ttl: Duration | None = None


class StaticMetadataService(JvmMetadataService):
    """A fixed set of streams.

    The properties of the clusters become a part of an option, which Spark prints in query plans. Write credentials
    as references such as ``${file:/etc/secrets/blue.properties:jaas}``, which the Kafka clients resolve (KIP-421).

    Args:
        streams: All streams.

    Raises:
        TypeError: if an element is not a ``KafkaStream``.
        ValueError: if two streams have the same id, or specify different properties for the same cluster.
    """

    _service = "static"

    def __init__(self, streams: Iterable[KafkaStream]) -> None:
        self.streams = list(streams)
        self._arguments = {"document": document_text(self.streams)}

    def __repr__(self) -> str:
        """Returns the name with the streams, whose text has no credentials."""
        return f"StaticMetadataService({self.streams!r})"


@dataclass(repr=False, eq=False)
class SingleClusterMetadataService(JvmMetadataService):
    """The topics of one Kafka cluster, each of which is a stream with the topic's name.

    Args:
        cluster_id: The id of the cluster in rows, options and checkpoints: 1 to 128 letters, digits, ``.``, ``_``,
            ``-``.
        bootstrap_servers: ``host:port``, several separated by commas.
        properties: Further Kafka client properties, without the prefix ``kafka.``.
    """

    _service = "single-cluster"
    _shown = ("clusterId", "bootstrapServers")
    cluster_id: str
    bootstrap_servers: str
    properties: Mapping[str, str] | None = None
