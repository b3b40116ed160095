"""The base of both builders: setters collect options."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, get_args

from dynamic_kafka import _bridge, _jvm, errors
from dynamic_kafka._values import Value, milliseconds, option_text
from dynamic_kafka.offsets import FUNCTION, OffsetsFunction
from dynamic_kafka.options import ReadOption, Secret, WriteOption
from dynamic_kafka.services import JvmMetadataService, KafkaMetadataService

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Self

FORMAT = "dynamic-kafka"

_KAFKA = "kafka."
# Names with a dot are Kafka's too, unless they are of a registry.
_KAFKA_WITHOUT_DOT = ("acks", "retries")
_OptionName = TypeVar("_OptionName", bound=str)


class DynamicKafkaBuilder(Generic[_OptionName]):
    """Base class of the builders of reads and writes.

    A builder collects string options. Every setter returns the builder; if two setters set the same option, the
    later one wins. The connector refuses a wrong name or value in the call that sets it, with a condition
    ``DYNAMIC_KAFKA.*``; with Spark Connect, or without a session, when the DataFrame is created or written.
    """

    _writes: ClassVar[bool]

    def __init__(self) -> None:
        self._service: KafkaMetadataService | None = None
        # By identity, see `identity`: the name as it was given, and the value.
        self._options: dict[str, tuple[str, str]] = {}
        # Functions that determine offsets, by their values of options.
        self._functions: dict[str, OffsetsFunction] = {}

    def set_kafka_metadata_service(self, service: JvmMetadataService | KafkaMetadataService) -> Self:
        """Sets the metadata service, which names the streams with their clusters and topics. Required.

        Args:
            service: A metadata service of this package, or an instance of your own subclass of
                ``KafkaMetadataService`` (classic sessions only). For a service in Scala or Java, use
                ``set_option("metadataService", "its.class.Name")`` instead.

        Raises:
            TypeError: if ``service`` is of another type.
        """
        if not isinstance(service, (JvmMetadataService, KafkaMetadataService)):
            raise TypeError(
                "the metadata service must be one of this package, such as FileMetadataService, or an instance of "
                f"a subclass of KafkaMetadataService, not {type(service).__name__}"
            )
        for key in [k for k in self._options if k.split(".")[0] == "metadataservice"]:
            del self._options[key]
        if isinstance(service, KafkaMetadataService):
            self._put("metadataService", "registered")
            self._service = service
        else:
            self._put_all(service.to_options())
        return self

    def set_property(self, name: str, value: Value) -> Self:
        """Sets a property of Kafka's clients for all clusters. ``set_option`` sets options of the connector.

        Args:
            name: The property, with or without the prefix ``kafka.``: ``kafka.client.rack`` or ``client.rack``.
            value: The value. Put credentials into the metadata service instead: Spark prints options in query
                plans.

        Raises:
            TypeError: if ``value`` is of another type.
        """
        return self._put(_with_prefix(name), value)

    def set_properties(self, properties: Mapping[str, Value]) -> Self:
        """Calls ``set_property`` for each entry.

        Args:
            properties: Values by name.
        """
        for name, value in properties.items():
            self.set_property(name, value)
        return self

    def set_cluster_property(self, cluster_id: str, name: str, value: Value) -> Self:
        """Sets a property of Kafka's clients, or an option, for one cluster.

        It takes precedence over the cluster's properties in the metadata and over ``set_property``.

        Args:
            cluster_id: The id of the cluster in the metadata, case-sensitive: 1 to 128 letters, digits, ``.``,
                ``_``, ``-``.
            name: A property as in ``set_property``, or an option that can be set per cluster, such as
                ``startingOffsets`` and ``maxOffsetsPerTrigger`` of a read.
            value: The value.

        Raises:
            TypeError: if ``value`` is of another type.
        """
        return self._put(name, value, cluster_id)

    def set_metadata_discovery_interval(self, interval: str | int | timedelta) -> Self:
        """Sets how often the metadata service is polled while the query runs. Default: every 30 seconds.

        Args:
            interval: Text such as ``"10s"`` (units: ms, s, m or min, h, d), a timedelta, or milliseconds. -1: the
                service is polled only when the query starts.

        Raises:
            TypeError: if ``interval`` is of another type.
        """
        text = milliseconds("the interval", interval) if isinstance(interval, timedelta) else interval
        return self._put("streamMetadataDiscoveryIntervalMs", text)

    def set_option(self, name: _OptionName, value: Value) -> Self:
        """Sets an option of the connector. ``set_property`` sets properties of Kafka's clients.

        Args:
            name: The name as in Spark's ``option(...)``. Type checkers know the names that docs/options.md lists;
                ``set_options`` takes any other one.
            value: The value.

        Raises:
            TypeError: if ``value`` is of another type.
            DynamicKafkaValueError: if ``name`` begins with ``kafka.``.
        """
        return self.set_options({name: value})

    def set_options(self, options: Mapping[str, Value]) -> Self:
        """Sets options of the connector, also those whose names a format or a class determines.

        Args:
            options: Values by name: ``{"json.timestampFormat": "yyyy", "metadataService.url": "..."}``.

        Raises:
            TypeError: if a value is of another type.
            DynamicKafkaValueError: if a name begins with ``kafka.``.
        """
        for name, value in options.items():
            if name.lower().startswith(_KAFKA):
                reason = "it is a property of Kafka's clients, not an option: use 'set_property'."
                raise errors.invalid_option(name, errors.REDACTED, reason)
            self._put(name, value)
        return self

    def options(self) -> dict[str, str]:
        """Returns the options by name. Works without Spark.

        For a metadata service written in Python, the builder adds ``metadataService.handle`` when it registers the
        service with Spark.
        """
        return dict(self._options.values())

    def _prepared(self, spark: SparkSession) -> dict[str, str]:
        """Returns the options after registering a Python service and functions with the session's JVM."""
        options = self.options()
        functions = {value: f for value, f in self._functions.items() if value in options.values()}
        # With Spark Connect, the server refuses functions.
        if self._service is None and _jvm.is_connect(spark):
            return options
        gateway = _jvm.gateway(spark, "A metadata service written in Python")
        api = _jvm.api(gateway)
        if self._service is not None:
            options["metadataService.handle"] = _bridge.register(self._service, gateway, api)
        for value, function in functions.items():
            _bridge.register_offsets(value.removeprefix(FUNCTION), function, gateway, api)
        return options

    def _value(self, name: str) -> str | None:
        return self._options.get(identity(name), (name, None))[1]

    def _put_all(self, options: Mapping[str, str]) -> Self:
        for name, value in options.items():
            self._put(name, value)
        return self

    def _put(self, name: str, value: Value, cluster: str | None = None) -> Self:
        text = option_text(name, value)
        api = _jvm.running()
        # A function is registered with the JVM later.
        if api is not None and not text.startswith(FUNCTION):
            api.check(self._writes, cluster, name, text)
        if cluster is not None:
            is_kafka = ("." in name and not name.lower().startswith("registry.")) or name in _KAFKA_WITHOUT_DOT
            name = f"cluster.{cluster}.{_with_prefix(name) if is_kafka else name}"
        key = identity(name)
        if key == "metadataservice":
            self._service = None
        self._options[key] = (name, text)
        return self

    def __repr__(self) -> str:
        """Returns the name with the options; a value that may be a secret is left out."""
        named = self._options.items()
        shown = (f"{name}={value!r}" if key in _SHOWN else f"{name}=..." for key, (name, value) in named)
        return f"{type(self).__name__}({', '.join(shown)})"


def _with_prefix(name: str) -> str:
    return name if name.lower().startswith(_KAFKA) else _KAFKA + name


def identity(name: str) -> str:
    """Returns the same text for all spellings of an option: case and hyphens matter only in cluster ids."""
    if name.lower().startswith("cluster."):
        return "cluster" + name[len("cluster") :]
    return name.lower() if "." in name else name.lower().replace("-", "")


_PUBLIC = {*get_args(ReadOption), *get_args(WriteOption)} - {*get_args(Secret)}
_SHOWN = {identity(name) for name in _PUBLIC if "." not in name}
