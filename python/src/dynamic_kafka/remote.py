"""Metadata services that query an HTTP server, Kubernetes, a database or Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from dynamic_kafka._values import arguments
from dynamic_kafka.services import Duration, JvmMetadataService


@dataclass(repr=False, eq=False)
class ClientCredentials:
    """A client of an authorization server, which gives tokens for it (RFC 6749, 4.4).

    Args:
        token_url: ``https://...`` of the token endpoint.
        client_id: Id of the client.
        client_secret: Its secret. Spark prints options in query plans, so write a reference such as
            ``${file:/etc/secrets/oauth.properties:secret}``, ``${env:NAME}`` or ``${dir:/etc/secrets:secret}``.
        scope: Names separated by spaces. Default: that of the server.
    """

    token_url: str
    client_id: str
    client_secret: str
    scope: str | None = None

    def to_options(self, prefix: str) -> dict[str, str]:
        """Returns the options ``tokenUrl``, ``clientId``, ``clientSecret`` and ``scope`` with this prefix."""
        return arguments(self, prefix)

    def __repr__(self) -> str:
        """Returns the name only."""
        return "ClientCredentials()"


@dataclass(repr=False, eq=False)
class HttpMetadataService(JvmMetadataService):
    """Streams in a document on an HTTP server, in the format of the metadata file.

    After an answer with an ``ETag``, the next request is conditional (``If-None-Match``, RFC 9110). Redirects are
    not followed. Spark prints options in query plans, so write credentials in headers as references:
    ``"Bearer ${file:/etc/secrets/registry.properties:token}"``, ``${env:NAME}`` or ``${dir:/etc/secrets:token}``.
    The driver resolves references for every request.

    Args:
        url: ``http://...`` or ``https://...``, without user and password.
        headers: Request headers, by name.
        timeout, ttl: See ``JvmMetadataService``.
        oauth: How to get a token for each request. Default: without.
    """

    _service = "http"
    url: str
    headers: Mapping[str, str] | None = None
    timeout: Duration | None = None
    ttl: Duration | None = None
    oauth: ClientCredentials | None = None

    def __repr__(self) -> str:
        """Returns the name with the address, without user, query and headers, which may hold credentials."""
        url = urlsplit(self.url)
        return f"HttpMetadataService({url.scheme}://{url.netloc.rpartition('@')[2]}{url.path})"


@dataclass(repr=False, eq=False)
class KubernetesConfigMapMetadataService(JvmMetadataService):
    """Streams in a document in a Kubernetes ConfigMap, in the format of the metadata file.

    Changes are noticed at once.

    The driver finds the API server and its credentials as other Kubernetes clients do. It needs Spark's Kubernetes
    module, which is a part of PySpark.

    Args:
        namespace: Namespace of the ConfigMap.
        name: Name of the ConfigMap.
        key: Key of the document in the ConfigMap.
        timeout, ttl: See ``JvmMetadataService``.
    """

    _service = "configmap"
    _shown = ("namespace", "name", "key")
    namespace: str
    name: str
    key: str
    timeout: Duration | None = None
    ttl: Duration | None = None


@dataclass(repr=False, eq=False)
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
        timeout, ttl: See ``JvmMetadataService``.
    """

    _service = "strimzi"
    _shown = ("namespace",)
    namespace: str
    listener: str | None = None
    label: str | None = None
    properties: Mapping[str, str] | None = None
    timeout: Duration | None = None
    ttl: Duration | None = None


@dataclass(repr=False, eq=False)
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
        timeout, ttl: See ``JvmMetadataService``. The timeout is rounded up to seconds.
    """

    _service = "jdbc"
    url: str
    query: str
    properties: Mapping[str, str] | None = None
    timeout: Duration | None = None
    ttl: Duration | None = None


@dataclass(repr=False, eq=False)
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
        timeout: See ``JvmMetadataService``.
    """

    _service = "kafka-topic"
    _shown = ("bootstrapServers", "topic")
    bootstrap_servers: str
    topic: str
    properties: Mapping[str, str] | None = None
    timeout: Duration | None = None
