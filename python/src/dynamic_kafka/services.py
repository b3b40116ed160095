"""Metadata services: which streams exist, and where each one lives at this moment."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from datetime import timedelta

from dynamic_kafka._values import limits, option_text
from dynamic_kafka.codec import document_text
from dynamic_kafka.model import KafkaStream


class KafkaMetadataService(ABC):
    """A metadata service written in Python: subclass it.

    The driver's JVM calls it while the query runs, one call at a time, on its own thread and with a time limit.
    The query never waits for a call and continues with the last good answer, so **raise an exception when the
    answer is unknown**: it is a failed poll. An empty answer, or one without a stream that is subscribed to by
    id, is a failed poll too (or a removal with ``allowMissingStreams``), but a stream that is returned without
    one of its clusters or topics removes them. A service needs a classic Spark session, and its query ends with
    the Python process that runs it.
    """

    @abstractmethod
    def get_all_streams(self) -> list[KafkaStream]:
        """All streams there are. Called for a subscription by pattern."""

    @abstractmethod
    def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
        """The streams of these ids, by id.

        Args:
            stream_ids: What the query has subscribed to. A stream that is not known is left out of the answer,
                which counts as a failed poll (or as a removal with ``allowMissingStreams``).
        """

    def is_cluster_active(self, cluster_id: str) -> bool:
        """False: the cluster is treated as removed, whatever ``describe_streams`` says. Default: True."""
        return True

    def close(self) -> None:  # noqa: B027 - optional: most services hold nothing
        """Called when Python ends, for a service that a query has used. Default: does nothing."""


class JvmMetadataService(ABC):
    """A metadata service that the connector has built in; it runs in the JVM, and over Spark Connect too."""

    @abstractmethod
    def to_options(self) -> dict[str, str]:
        """The options that name the service and its arguments."""

    def __repr__(self) -> str:
        """The name only: arguments may hold credentials."""
        return f"{type(self).__name__}()"


class FileMetadataService(JvmMetadataService):
    """Reads a YAML or JSON file, again whenever it is asked.

    Args:
        path: Path or Hadoop URI of the file, as the driver sees it.
        ttl: How long an answer is kept before the file is read again: milliseconds, ``"10s"`` or a timedelta.
            Default: the file is looked at in every poll.
    """

    def __init__(self, path: str | os.PathLike[str], ttl: int | str | timedelta | None = None) -> None:
        self.path = os.fspath(path)
        self._limits = limits(None, ttl)

    def to_options(self) -> dict[str, str]:
        """``metadataService=file`` with ``path`` and ``ttlMs``."""
        return {"metadataService": "file", "metadataService.path": self.path, **self._limits}

    def __repr__(self) -> str:
        """With the path."""
        return f"FileMetadataService({self.path!r})"


class StaticMetadataService(JvmMetadataService):
    """Streams that stay as they are.

    The properties of the clusters become part of an option, which Spark shows in plans: give credentials as
    references such as ``${file:/etc/secrets/blue.properties:jaas}``, which only the Kafka clients resolve.

    Args:
        streams: All streams there are.

    Raises:
        ValueError: for two streams of one id, and for two that give one cluster different properties.
    """

    def __init__(self, streams: Iterable[KafkaStream]) -> None:
        self.streams = list(streams)
        self._document = document_text(self.streams)

    def to_options(self) -> dict[str, str]:
        """``metadataService=static`` with ``document``."""
        return {"metadataService": "static", "metadataService.document": self._document}

    def __repr__(self) -> str:
        """With the streams, which show no credentials."""
        return f"StaticMetadataService({self.streams!r})"


class SingleClusterMetadataService(JvmMetadataService):
    """One cluster, where every topic is a stream of the same name.

    Args:
        cluster_id: The id under which checkpoint and rows name the cluster.
        bootstrap_servers: ``host:port``, comma-separated.
        properties: Further Kafka client properties, without the ``kafka.`` prefix.
    """

    def __init__(
        self, cluster_id: str, bootstrap_servers: str, properties: Mapping[str, str] | None = None
    ) -> None:
        self.cluster_id = cluster_id
        self.bootstrap_servers = bootstrap_servers
        self._properties = {key: option_text(key, value) for key, value in (properties or {}).items()}

    def to_options(self) -> dict[str, str]:
        """``metadataService=single-cluster`` with ``clusterId``, ``bootstrapServers`` and ``properties.*``."""
        return {
            "metadataService": "single-cluster",
            "metadataService.clusterId": self.cluster_id,
            "metadataService.bootstrapServers": self.bootstrap_servers,
            **{f"metadataService.properties.{key}": value for key, value in self._properties.items()},
        }

    def __repr__(self) -> str:
        """Without the properties."""
        return f"SingleClusterMetadataService({self.cluster_id!r}, {self.bootstrap_servers!r})"
