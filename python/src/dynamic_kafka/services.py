"""Metadata services: the streams that exist, and the clusters and topics of each."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import timedelta

from dynamic_kafka._values import limits, option_text
from dynamic_kafka.codec import document_text
from dynamic_kafka.model import KafkaStream


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
    def get_all_streams(self) -> list[KafkaStream]:
        """Returns all streams. Called for queries that subscribe by ``streamPattern``.

        Returns:
            The streams, each id once.
        """

    @abstractmethod
    def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
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


class JvmMetadataService(ABC):
    """Base class of the metadata services that run in the driver's JVM, also with Spark Connect."""

    @abstractmethod
    def to_options(self) -> dict[str, str]:
        """Returns the options ``metadataService`` and ``metadataService.<argument>``, as Spark takes them."""

    def __repr__(self) -> str:
        """Returns the name without the arguments, which may hold credentials."""
        return f"{type(self).__name__}()"


class FileMetadataService(JvmMetadataService):
    """Streams in a YAML or JSON file, version 1 of the metadata format or Flink's list of streams.

    Args:
        path: Path or Hadoop URI of the file, as the driver resolves it.
        ttl: How long the content of the file is cached, in milliseconds, as text such as ``"10s"``, or as a
            timedelta; 0 or more. Default: the file is read in every poll.

    Raises:
        ValueError: if ``ttl`` is negative or is not a duration.
    """

    def __init__(self, path: str | os.PathLike[str], ttl: int | str | timedelta | None = None) -> None:
        self.path = os.fspath(path)
        self._limits = limits(None, ttl)

    def to_options(self) -> dict[str, str]:
        """Returns ``metadataService=file`` with ``path`` and ``ttlMs``."""
        return {"metadataService": "file", "metadataService.path": self.path, **self._limits}

    def __repr__(self) -> str:
        """Returns the name with the path."""
        return f"FileMetadataService({self.path!r})"


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

    def __init__(self, streams: Iterable[KafkaStream]) -> None:
        self.streams = list(streams)
        self._document = document_text(self.streams)

    def to_options(self) -> dict[str, str]:
        """Returns ``metadataService=static`` with ``document``, the streams as JSON."""
        return {"metadataService": "static", "metadataService.document": self._document}

    def __repr__(self) -> str:
        """Returns the name with the streams, whose text has no credentials."""
        return f"StaticMetadataService({self.streams!r})"


class SingleClusterMetadataService(JvmMetadataService):
    """The topics of one Kafka cluster, each of which is a stream with the topic's name.

    Args:
        cluster_id: The id of the cluster in rows, options and checkpoints: 1 to 128 letters, digits, ``.``, ``_``,
            ``-``.
        bootstrap_servers: ``host:port``, several separated by commas.
        properties: Further Kafka client properties, without the prefix ``kafka.``.
    """

    def __init__(
        self, cluster_id: str, bootstrap_servers: str, properties: Mapping[str, str] | None = None
    ) -> None:
        self.cluster_id = cluster_id
        self.bootstrap_servers = bootstrap_servers
        self._properties = {key: option_text(key, value) for key, value in (properties or {}).items()}

    def to_options(self) -> dict[str, str]:
        """Returns ``metadataService=single-cluster`` with the other arguments."""
        return {
            "metadataService": "single-cluster",
            "metadataService.clusterId": self.cluster_id,
            "metadataService.bootstrapServers": self.bootstrap_servers,
            **{f"metadataService.properties.{key}": value for key, value in self._properties.items()},
        }

    def __repr__(self) -> str:
        """Returns the name with id and addresses, without the properties."""
        return f"SingleClusterMetadataService({self.cluster_id!r}, {self.bootstrap_servers!r})"
