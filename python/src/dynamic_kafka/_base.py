"""The base of both builders: setters collect options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from dynamic_kafka import _bridge, _jvm
from dynamic_kafka._values import milliseconds, option_text
from dynamic_kafka.offsets import FUNCTION, OffsetsFunction
from dynamic_kafka.services import JvmMetadataService, KafkaMetadataService

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Self

FORMAT = "dynamic-kafka"

# A name with a dot is a Kafka property, one without is an option of the connector. These properties have no dot.
_KAFKA_WITHOUT_DOT = ("acks", "retries")
_PREFIXES = (
    "kafka.",
    "cluster.",
    "metadataservice.",
    "registry.",
    "valuedeserializer.",
    "keydeserializer.",
    "valueserializer.",
    "keyserializer.",
)
# Formats that have options: json.timestampFormat, key.csv.sep. `python/tests/test_formats.py` checks the list.
_FORMATS = (
    "json",
    "csv",
    "avro",
    "avro-confluent",
    "json-confluent",
    "debezium-json",
    "debezium-avro-confluent",
    "canal-json",
    "maxwell-json",
    "ogg-json",
    "protobuf",
    "protobuf-confluent",
)
_OF_FORMAT = re.compile(
    rf"((key|value)\.)?({'|'.join(_FORMATS).replace('-', '-?')})\..+|(key|value)\.(format|fields).*", re.IGNORECASE
)


class DynamicKafkaBuilder:
    """Base class of the builders of reads and writes.

    A builder collects string options. Every setter returns the builder; if two setters set the same option, the
    later one wins.
    """

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

    def set_property(self, name: str, value: str | int | float | bool) -> Self:
        """Sets a Kafka client property for all clusters, or an option of the connector.

        Args:
            name: A Kafka property with or without the prefix ``kafka.``: ``kafka.client.rack`` or ``client.rack``.
                A name without a dot, such as ``failOnDataLoss``, and one that begins with ``cluster.``,
                ``metadataService.`` or ``registry.`` is an option of the connector.
            value: The value. Put credentials into the metadata service instead: Spark prints options in query
                plans.

        Raises:
            TypeError: if ``value`` is of another type.
        """
        return self._put(_qualified(name), option_text(name, value))

    def set_properties(self, properties: Mapping[str, str | int | float | bool]) -> Self:
        """Calls ``set_property`` for each entry.

        Args:
            properties: Values by name.

        Raises:
            TypeError: if a value is not a str, int, float or bool.
        """
        for name, value in properties.items():
            self.set_property(name, value)
        return self

    def set_cluster_property(self, cluster_id: str, name: str, value: str | int | float | bool) -> Self:
        """Sets a Kafka client property or an option for one cluster.

        It takes precedence over the cluster's properties in the metadata and over ``set_property``.

        Args:
            cluster_id: The id of the cluster in the metadata, case-sensitive: 1 to 128 letters, digits, ``.``,
                ``_``, ``-``.
            name: A Kafka property as in ``set_property``, or an option that can be set per cluster, such as
                ``startingOffsets`` and ``maxOffsetsPerTrigger`` of a read.
            value: The value.

        Raises:
            TypeError: if ``value`` is of another type.
            ValueError: if ``cluster_id`` is not a cluster id.
        """
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,128}", cluster_id):
            raise ValueError(f"a cluster id must be 1 to 128 letters, digits, '.', '_', '-', not {cluster_id!r}")
        return self._put(f"cluster.{cluster_id}.{_qualified(name)}", option_text(name, value))

    def set_metadata_discovery_interval(self, interval: str | int | timedelta) -> Self:
        """Sets how often the metadata service is polled while the query runs. Default: every 30 seconds.

        Args:
            interval: Text such as ``"10s"`` (units: ms, s, m or min, h, d), a timedelta, or milliseconds. -1: the
                service is polled only when the query starts.

        Raises:
            TypeError: if ``interval`` is of another type.
            ValueError: if ``interval`` is 0, is negative and not -1, or is not a duration.
        """
        ms = milliseconds("the metadata discovery interval", interval)
        if ms < 1 and ms != -1:
            raise ValueError(
                f"the metadata discovery interval must be more than 0, or -1 for never, not {interval!r}"
            )
        return self._put("streamMetadataDiscoveryIntervalMs", str(ms))

    def set_option(self, name: str, value: str | int | float | bool) -> Self:
        """Sets an option by its exact name.

        Args:
            name: The name as in Spark's ``option(...)``; Kafka properties have the prefix ``kafka.``.
            value: The value.

        Raises:
            TypeError: if ``value`` is of another type.
        """
        return self._put(name, option_text(name, value))

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

    def _put(self, name: str, value: str) -> Self:
        key = identity(name)
        if key == "metadataservice":
            self._service = None
        self._options[key] = (name, value)
        return self


def _qualified(name: str) -> str:
    """Returns the name of the option for a property's name."""
    known = name.lower().startswith(_PREFIXES) or _OF_FORMAT.fullmatch(name)
    kafka = ("." in name or name in _KAFKA_WITHOUT_DOT) and not known
    return f"kafka.{name}" if kafka else name


def identity(name: str) -> str:
    """Returns the same text for all spellings of an option: case and hyphens matter only in cluster ids."""
    if name.lower().startswith("cluster."):
        return "cluster" + name[len("cluster") :]
    return name.lower() if "." in name else name.lower().replace("-", "")
