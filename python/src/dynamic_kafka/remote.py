"""Metadata services that query an HTTP server, Kubernetes, a database or Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlsplit

from dynamic_kafka._values import limits, option_text
from dynamic_kafka.services import JvmMetadataService

Duration = int | str | timedelta
"""Milliseconds, text such as ``"10s"``, or a timedelta."""


class ClientCredentials:
    """A client of an authorization server, which gives tokens for it (RFC 6749, 4.4).

    Args:
        token_url: ``https://...`` of the token endpoint.
        client_id: Id of the client.
        client_secret: Its secret. Spark prints options in query plans, so write a reference such as
            ``${file:/etc/secrets/oauth.properties:secret}``, ``${env:NAME}`` or ``${dir:/etc/secrets:secret}``.
        scope: Names separated by spaces. Default: that of the server.
    """

    def __init__(self, token_url: str, client_id: str, client_secret: str, scope: str | None = None) -> None:
        self._options = {"tokenUrl": token_url, "clientId": client_id, "clientSecret": client_secret}
        if scope:
            self._options["scope"] = scope

    def to_options(self, prefix: str) -> dict[str, str]:
        """Returns the options ``tokenUrl``, ``clientId``, ``clientSecret`` and ``scope`` with this prefix."""
        return {prefix + name: value for name, value in self._options.items()}

    def __repr__(self) -> str:
        """Returns the name only."""
        return "ClientCredentials()"


class HttpMetadataService(JvmMetadataService):
    """Streams in a document on an HTTP server, in the format of the metadata file.

    After an answer with an ``ETag``, the next request is conditional (``If-None-Match``, RFC 9110). Redirects are
    not followed. Spark prints options in query plans, so write credentials in headers as references:
    ``"Bearer ${file:/etc/secrets/registry.properties:token}"``, ``${env:NAME}`` or ``${dir:/etc/secrets:token}``.
    The driver resolves references for every request.

    Args:
        url: ``http://...`` or ``https://...``, without user and password.
        headers: Request headers, by name.
        timeout: Limit for one request with its answer, in milliseconds, as text such as ``"10s"``, or as a
            timedelta; 1 ms or more. Default: 10 s.
        ttl: How long an answer is cached, in the same forms; 0 or more. Default: answers are not cached.
        oauth: How to get a token for each request. Default: without.

    Raises:
        ValueError: if ``timeout`` or ``ttl`` is too small or is not a duration.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
        ttl: Duration | None = None,
        oauth: ClientCredentials | None = None,
    ) -> None:
        self.url = url
        self._headers = {name: option_text(name, value) for name, value in (headers or {}).items()}
        self._limits = limits(timeout, ttl)
        self._oauth = oauth

    def to_options(self) -> dict[str, str]:
        """Returns ``metadataService=http`` with the other arguments."""
        return {
            "metadataService": "http",
            "metadataService.url": self.url,
            **{f"metadataService.headers.{name}": value for name, value in self._headers.items()},
            **self._limits,
            **(self._oauth.to_options("metadataService.oauth.") if self._oauth else {}),
        }

    def __repr__(self) -> str:
        """Returns the name with the address, without user, query and headers, which may hold credentials."""
        url = urlsplit(self.url)
        return f"HttpMetadataService({url.scheme}://{url.netloc.rpartition('@')[2]}{url.path})"


class KubernetesConfigMapMetadataService(JvmMetadataService):
    """Streams in a document in a Kubernetes ConfigMap, in the format of the metadata file.

    Changes are noticed at once.

    The driver finds the API server and its credentials as other Kubernetes clients do. It needs Spark's Kubernetes
    module, which is a part of PySpark.

    Args:
        namespace: Namespace of the ConfigMap.
        name: Name of the ConfigMap.
        key: Key of the document in the ConfigMap.
        timeout: Limit for one request, in milliseconds, as text such as ``"10s"``, or as a timedelta; 1 ms or
            more. Default: 10 s.
        ttl: How long an answer is cached, in the same forms; 0 or more. Default: answers are not cached.

    Raises:
        ValueError: if ``timeout`` or ``ttl`` is too small or is not a duration.
    """

    def __init__(
        self,
        namespace: str,
        name: str,
        key: str,
        timeout: Duration | None = None,
        ttl: Duration | None = None,
    ) -> None:
        self.namespace = namespace
        self.name = name
        self.key = key
        self._limits = limits(timeout, ttl)

    def to_options(self) -> dict[str, str]:
        """Returns ``metadataService=configmap`` with the other arguments."""
        return {
            "metadataService": "configmap",
            "metadataService.namespace": self.namespace,
            "metadataService.name": self.name,
            "metadataService.key": self.key,
            **self._limits,
        }

    def __repr__(self) -> str:
        """Returns the name with the place of the document."""
        return f"KubernetesConfigMapMetadataService({self.namespace!r}, {self.name!r}, {self.key!r})"


class StrimziMetadataService(JvmMetadataService):
    """Streams of Strimzi's ``KafkaTopic`` resources, by a label, on the clusters of their ``Kafka`` resources.

    Changes are noticed at once. A cluster's id is the name of its ``Kafka``, its address that of a listener.

    The driver finds the API server and its credentials as other Kubernetes clients do. It needs Spark's Kubernetes
    module, which is a part of PySpark.

    Args:
        namespace: Namespace of the resources, several separated by commas.
        listener: Name of the listener of each ``Kafka``. Default: the only one.
        label: Key of the label with the id of the stream. Default: ``dynamic-kafka/stream``.
        properties: Further Kafka client properties of each cluster, without the prefix ``kafka.``. Spark prints
            options in query plans, so write credentials as references such as
            ``${file:/etc/secrets/kafka.properties:jaas}``.
        timeout: Limit for one request, in milliseconds, as text such as ``"10s"``, or as a timedelta; 1 ms or
            more. Default: 10 s.
        ttl: How long an answer is cached, in the same forms; 0 or more. Default: answers are not cached.

    Raises:
        ValueError: if ``timeout`` or ``ttl`` is too small or is not a duration.
    """

    def __init__(
        self,
        namespace: str,
        listener: str | None = None,
        label: str | None = None,
        properties: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
        ttl: Duration | None = None,
    ) -> None:
        self.namespace = namespace
        self.listener = listener
        self.label = label
        self._properties = {name: option_text(name, value) for name, value in (properties or {}).items()}
        self._limits = limits(timeout, ttl)

    def to_options(self) -> dict[str, str]:
        """Returns ``metadataService=strimzi`` with the other arguments."""
        return {
            "metadataService": "strimzi",
            "metadataService.namespace": self.namespace,
            **({"metadataService.listener": self.listener} if self.listener else {}),
            **({"metadataService.label": self.label} if self.label else {}),
            **{f"metadataService.properties.{name}": value for name, value in self._properties.items()},
            **self._limits,
        }

    def __repr__(self) -> str:
        """Returns the name with the namespace, without the properties."""
        return f"StrimziMetadataService({self.namespace!r})"


class JdbcMetadataService(JvmMetadataService):
    """Streams in a database that has a JDBC driver. The JDBC driver has to be on Spark's class path.

    Args:
        url: ``jdbc:...``. Put credentials into ``properties``.
        query: A query whose result has one row for each topic of a stream on a cluster. Required columns:
            ``stream``, ``cluster``, ``topic``, ``bootstrap_servers``. Optional columns: ``state``, ``write``,
            ``properties`` (a JSON object), ``starting_offsets``, ``stopping_offsets``. Alternatively the result
            is one row with one column ``document``, in the format of the metadata file.
        properties: Properties of the connection, such as ``user`` and ``password``. Values may contain references
            such as ``${file:/etc/secrets/db.properties:password}``, which the driver resolves for every
            connection.
        timeout: Limit for the query, in milliseconds, as text such as ``"10s"``, or as a timedelta, rounded up to
            seconds; 1 ms or more. Default: 10 s.
        ttl: How long an answer is cached, in the same forms; 0 or more. Default: answers are not cached.

    Raises:
        ValueError: if ``timeout`` or ``ttl`` is too small or is not a duration.
    """

    def __init__(
        self,
        url: str,
        query: str,
        properties: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
        ttl: Duration | None = None,
    ) -> None:
        self.url = url
        self.query = query
        self._properties = {name: option_text(name, value) for name, value in (properties or {}).items()}
        self._limits = limits(timeout, ttl)

    def to_options(self) -> dict[str, str]:
        """Returns ``metadataService=jdbc`` with ``url``, ``query``, ``properties.*``, ``timeoutMs``, ``ttlMs``."""
        return {
            "metadataService": "jdbc",
            "metadataService.url": self.url,
            "metadataService.query": self.query,
            **{f"metadataService.properties.{name}": value for name, value in self._properties.items()},
            **self._limits,
        }


class KafkaTopicMetadataService(JvmMetadataService):
    """Streams in a compacted Kafka topic with one partition. New records are applied at once.

    The key of a record is a stream id. Its value is JSON in the format of the metadata file, with exactly this
    stream and its clusters; null removes the stream. Where records differ about a cluster, the newest one holds.

    Args:
        bootstrap_servers: ``host:port`` of the cluster with the topic, several separated by commas.
        topic: The topic: one partition, ``cleanup.policy=compact``.
        properties: Further Kafka client properties of this cluster, without the prefix ``kafka.``. Spark prints
            options in query plans, so write credentials as references such as
            ``${file:/etc/secrets/metadata.properties:jaas}``.
        timeout: Limit for one poll, in milliseconds, as text such as ``"10s"``, or as a timedelta; 1 ms or more.
            Default: 10 s.

    Raises:
        ValueError: if ``timeout`` is too small or is not a duration.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        properties: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
    ) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.topic = topic
        self._properties = {name: option_text(name, value) for name, value in (properties or {}).items()}
        self._limits = limits(timeout, None)

    def to_options(self) -> dict[str, str]:
        """Returns ``metadataService=kafka-topic`` with the other arguments."""
        return {
            "metadataService": "kafka-topic",
            "metadataService.bootstrapServers": self.bootstrap_servers,
            "metadataService.topic": self.topic,
            **{f"metadataService.properties.{name}": value for name, value in self._properties.items()},
            **self._limits,
        }

    def __repr__(self) -> str:
        """Returns the name with the place of the streams, without the properties."""
        return f"KafkaTopicMetadataService({self.bootstrap_servers!r}, {self.topic!r})"
