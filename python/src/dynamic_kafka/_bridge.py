"""Lets the driver's JVM call a metadata service, and functions that determine offsets, written in Python.

Every answer of a service is a JSON text in the format of the metadata file. Services and functions are available
in the driver only, and only while this Python process is running.
"""

from __future__ import annotations

import atexit
import json
import logging
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from dynamic_kafka.codec import document_text
from dynamic_kafka.model import KafkaStream
from dynamic_kafka.offsets import OffsetsFunction
from dynamic_kafka.services import KafkaMetadataService

_log = logging.getLogger("dynamic_kafka")
_T = TypeVar("_T")

# A reference in the JVM does not keep a Python object alive, so registered proxies are kept here, by handle.
_registered: dict[str, ServiceProxy] = {}
_offsets: dict[str, OffsetsProxy] = {}


class ServiceProxy:
    """Implements the JVM's interface ``PythonMetadataService`` with a Python service.

    Args:
        service: The user's service.
        gateway: The py4j gateway of the JVM that calls the service.
    """

    def __init__(self, service: KafkaMetadataService, gateway: Any = None) -> None:
        self.service = service
        self.gateway = gateway

    def getAllStreams(self) -> str:
        """Returns all streams as a metadata document."""
        return self._answer("get_all_streams", lambda: document_text(self.service.get_all_streams()))

    def describeStreams(self, ids_json: str) -> str:
        """Returns streams as a metadata document.

        Args:
            ids_json: A JSON array of stream ids.
        """

        def describe() -> str:
            streams = self.service.describe_streams(json.loads(ids_json))
            if not isinstance(streams, Mapping):
                raise TypeError(f"expected a dict of KafkaStream by stream id, not {type(streams).__name__}")
            for stream_id, stream in streams.items():
                if isinstance(stream, KafkaStream) and stream.stream_id != stream_id:
                    raise ValueError(f"the stream under '{stream_id}' has the id '{stream.stream_id}'")
            return document_text(streams.values())

        return self._answer("describe_streams", describe)

    def isClusterActive(self, cluster_id: str) -> bool:
        """Returns the answer of the service as a bool."""
        return self._answer("is_cluster_active", lambda: bool(self.service.is_cluster_active(cluster_id)))

    def close(self) -> None:
        """Does nothing: Python closes its services when it exits."""

    def _answer(self, method: str, call: Callable[[], _T]) -> _T:
        return _without_traceback(f"{type(self.service).__name__}.{method}", call)

    class Java:
        """Names the implemented interface, as py4j requires."""

        implements = ["io.github.dynamickafka.PythonMetadataService"]  # noqa: RUF012 - read by py4j


class OffsetsProxy:
    """Implements the JVM's interface ``PythonOffsetsFunction`` with a Python function.

    Args:
        function: The user's function.
        gateway: The py4j gateway of the JVM that calls the function.
    """

    def __init__(self, function: OffsetsFunction, gateway: Any = None) -> None:
        self.function = function
        self.gateway = gateway

    def offsets(self, cluster: str, topic: str, partitions_json: str) -> str:
        """Returns the offsets by partition, as a JSON object.

        Args:
            cluster: The cluster id.
            topic: The topic.
            partitions_json: A JSON array of the partitions.
        """

        def determine() -> str:
            answer = self.function(cluster, topic, json.loads(partitions_json))
            if not isinstance(answer, Mapping):
                raise TypeError(f"expected a dict of offsets by partition, not {type(answer).__name__}")
            # Integers of other libraries, too.
            return json.dumps({operator.index(p): operator.index(o) for p, o in answer.items()})

        return _without_traceback("the function that determines offsets", determine)

    class Java:
        """Names the implemented interface, as py4j requires."""

        implements = ["io.github.dynamickafka.PythonOffsetsFunction"]  # noqa: RUF012 - read by py4j


def _without_traceback(what: str, call: Callable[[], _T]) -> _T:
    """Calls the user's code. py4j sends the traceback to the JVM; without it, only type and message."""
    try:
        return call()
    except Exception as e:
        _log.debug("%s failed", what, exc_info=True)
        failure = e
    raise failure.with_traceback(None) from None


def register(service: KafkaMetadataService, gateway: Any, api: Any) -> str:
    """Registers a service with the JVM, once for each service and JVM.

    Args:
        service: The user's service.
        gateway: The py4j gateway.
        api: The connector's PythonApi.

    Returns:
        The value of the option ``metadataService.handle``.
    """
    from pyspark.java_gateway import ensure_callback_server_started

    for handle, proxy in _registered.items():
        if proxy.service is service and proxy.gateway is gateway:
            return handle
    if not _registered:
        atexit.register(_close_all)
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    proxy = ServiceProxy(service, gateway)
    handle = str(api.register(proxy))
    _registered[handle] = proxy
    return handle


def register_offsets(handle: str, function: OffsetsFunction, gateway: Any, api: Any) -> None:
    """Registers a function with the JVM, once for each JVM.

    Args:
        handle: The handle in the options.
        function: The user's function.
        gateway: The py4j gateway.
        api: The connector's PythonApi.
    """
    from pyspark.java_gateway import ensure_callback_server_started

    known = _offsets.get(handle)
    if known is None or known.gateway is not gateway:
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        _offsets[handle] = OffsetsProxy(function, gateway)
        api.registerOffsets(handle, _offsets[handle])


def _close_all() -> None:
    """Closes the services when Python exits: the JVM does not know the last query of a service."""
    for service in {id(proxy.service): proxy.service for proxy in _registered.values()}.values():
        try:
            service.close()
        except Exception:
            _log.warning("closing %s failed", type(service).__name__, exc_info=True)
    _registered.clear()
