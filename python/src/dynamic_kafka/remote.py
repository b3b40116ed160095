"""Metadata services of the connector that ask another system: a server, a Kubernetes cluster, a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlsplit

from dynamic_kafka._values import limits, option_text
from dynamic_kafka.services import JvmMetadataService

Duration = int | str | timedelta


class HttpMetadataService(JvmMetadataService):
    """Asks an HTTP server for a document in the format of the metadata file, JSON or YAML.

    An answer with an ``ETag`` is asked for again under a condition; redirects are not followed. The values of
    headers may hold references, ``"Bearer ${file:/etc/secrets/registry.properties:token}"``, ``${env:NAME}`` and
    ``${dir:/etc/secrets:token}``, which the driver resolves for each request anew: a credential that is given
    itself is shown by Spark in plans.

    Args:
        url: Of scheme http or https, without user and password.
        headers: Sent with each request.
        timeout: For a whole exchange: milliseconds, ``"10s"`` or a timedelta. Default: 10 s.
        ttl: How long an answer is used again without asking. Default: not at all.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        timeout: Duration | None = None,
        ttl: Duration | None = None,
    ) -> None:
        self.url = url
        self._headers = {name: option_text(name, value) for name, value in (headers or {}).items()}
        self._limits = limits(timeout, ttl)

    def to_options(self) -> dict[str, str]:
        """``metadataService=http`` with ``url``, ``headers.*``, ``timeoutMs`` and ``ttlMs``."""
        return {
            "metadataService": "http",
            "metadataService.url": self.url,
            **{f"metadataService.headers.{name}": value for name, value in self._headers.items()},
            **self._limits,
        }

    def __repr__(self) -> str:
        """With the address, but no credentials: those could be in user, query and headers."""
        url = urlsplit(self.url)
        return f"HttpMetadataService({url.scheme}://{url.netloc.rpartition('@')[2]}{url.path})"


class KubernetesConfigMapMetadataService(JvmMetadataService):
    """Reads a document in the format of the metadata file from a ConfigMap.

    The driver finds the API server and its credentials as all Kubernetes clients do, and needs Spark's Kubernetes
    module, which PySpark brings along.

    Args:
        namespace: Where the ConfigMap is.
        name: Its name.
        key: Under which the document is in it.
        timeout: For an answer: milliseconds, ``"10s"`` or a timedelta. Default: 10 s.
        ttl: How long an answer is used again without asking. Default: not at all.
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
        """``metadataService=configmap`` with ``namespace``, ``name``, ``key``, ``timeoutMs`` and ``ttlMs``."""
        return {
            "metadataService": "configmap",
            "metadataService.namespace": self.namespace,
            "metadataService.name": self.name,
            "metadataService.key": self.key,
            **self._limits,
        }

    def __repr__(self) -> str:
        """With the place of the document."""
        return f"KubernetesConfigMapMetadataService({self.namespace!r}, {self.name!r}, {self.key!r})"


class JdbcMetadataService(JvmMetadataService):
    """Asks a database, through a JDBC driver that has to be on the driver's class path.

    Args:
        url: ``jdbc:...``, best without credentials.
        query: Its rows have the columns ``stream``, ``cluster``, ``topic``, ``bootstrap_servers``, and as wanted
            ``state``, ``properties`` (a JSON object), ``starting_offsets``, ``stopping_offsets``; or it is one row
            with the one column ``document``, in the format of the metadata file.
        properties: Of the connection, such as ``user`` and ``password``. Values may hold references such as
            ``${file:/etc/secrets/db.properties:password}``, which the driver resolves for each connection anew.
        timeout: For the query: milliseconds, ``"10s"`` or a timedelta. Default: 10 s.
        ttl: How long an answer is used again without asking. Default: not at all.
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
        """``metadataService=jdbc`` with ``url``, ``query``, ``properties.*``, ``timeoutMs`` and ``ttlMs``."""
        return {
            "metadataService": "jdbc",
            "metadataService.url": self.url,
            "metadataService.query": self.query,
            **{f"metadataService.properties.{name}": value for name, value in self._properties.items()},
            **self._limits,
        }
