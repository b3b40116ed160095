"""What the builders of reads and of writes have in common: setters in, options out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from dynamic_kafka import _bridge, _jvm
from dynamic_kafka._values import milliseconds, option_text
from dynamic_kafka.services import JvmMetadataService, KafkaMetadataService

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from typing_extensions import Self

FORMAT = "dynamic-kafka"

# What tells a Kafka property from an option of the connector is the dot. These Kafka properties have none.
_KAFKA_WITHOUT_DOT = ("acks", "retries")
_PREFIXES = ("kafka.", "cluster.", "metadataservice.")


class DynamicKafkaBuilder:
    """What the builders of reads and of writes have in common.

    It makes string options and nothing else. Every setter returns the builder; where two set the same option, the
    later one holds.
    """

    def __init__(self) -> None:
        self._service: KafkaMetadataService | None = None
        # By what the connector takes as the same option: name as it was given, value.
        self._options: dict[str, tuple[str, str]] = {}

    def set_kafka_metadata_service(self, service: JvmMetadataService | KafkaMetadataService) -> Self:
        """Says who tells the streams, their clusters and topics. Required.

        Args:
            service: ``FileMetadataService``, ``StaticMetadataService``, ``SingleClusterMetadataService``, or a
                subclass of ``KafkaMetadataService`` of your own (classic sessions only). A service that is
                written in Scala or Java: ``set_option("metadataService", "its.class.Name")``.

        Raises:
            TypeError: for something else.
        """
        if not isinstance(service, (JvmMetadataService, KafkaMetadataService)):
            raise TypeError(
                "a metadata service is a FileMetadataService, another one of this package, or a subclass of "
                f"KafkaMetadataService, not {type(service).__name__}"
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
            name: ``kafka.client.rack`` or ``client.rack``. A name without a dot, such as ``failOnDataLoss`` of a
                read, is an option of the connector; those with ``cluster.`` and ``metadataService.`` are so, too.
            value: The value. Credentials are better kept in the metadata service: Spark shows options in plans.
        """
        return self._put(_qualified(name), option_text(name, value))

    def set_properties(self, properties: Mapping[str, str | int | float | bool]) -> Self:
        """``set_property`` for each entry.

        Args:
            properties: Values by name.
        """
        for name, value in properties.items():
            self.set_property(name, value)
        return self

    def set_cluster_property(self, cluster_id: str, name: str, value: str | int | float | bool) -> Self:
        """Sets a Kafka client property or an option for one cluster. It wins over all other places.

        Args:
            cluster_id: The cluster's id in the metadata, letter case included.
            name: As for ``set_property``: ``kafka.sasl.jaas.config`` or ``sasl.jaas.config``, or an option that
                can differ between clusters: ``startingOffsets``, ``maxOffsetsPerTrigger`` of a read.
            value: The value.

        Raises:
            ValueError: for a cluster id that is none: 1 to 128 letters, digits, ``.``, ``_``, ``-``.
        """
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,128}", cluster_id):
            raise ValueError(f"a cluster id is 1 to 128 letters, digits, '.', '_', '-', not {cluster_id!r}")
        return self._put(f"cluster.{cluster_id}.{_qualified(name)}", option_text(name, value))

    def set_metadata_discovery_interval(self, interval: str | int | timedelta) -> Self:
        """How often the metadata service is asked while the query runs. Default: 30 seconds.

        Args:
            interval: ``"10s"`` (ms, s, m or min, h, d), a timedelta, or milliseconds; -1: only at the start.

        Raises:
            ValueError: for 0, and for what is negative but -1.
        """
        ms = milliseconds("the metadata discovery interval", interval)
        if ms < 1 and ms != -1:
            raise ValueError(f"the metadata discovery interval is more than 0, or -1 for never, not {interval!r}")
        return self._put("streamMetadataDiscoveryIntervalMs", str(ms))

    def set_option(self, name: str, value: str | int | float | bool) -> Self:
        """Sets an option by its name, to the letter.

        Args:
            name: As in Spark's ``option(...)``: Kafka properties with their ``kafka.`` prefix.
            value: The value.
        """
        return self._put(name, option_text(name, value))

    def options(self) -> dict[str, str]:
        """The options that will be used; no Spark is needed for it.

        For a service written in Python, ``metadataService.handle`` is added when Spark is there.
        """
        return dict(self._options.values())

    def _prepared(self, spark: SparkSession) -> dict[str, str]:
        """The options, with what has to be made in the session's JVM."""
        options = self.options()
        if self._service is None and _jvm.is_connect(spark):
            return options
        gateway = _jvm.gateway(spark, "A metadata service written in Python")
        api = _jvm.api(gateway)
        if self._service is not None:
            options["metadataService.handle"] = _bridge.register(self._service, gateway, api)
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
    """The option that a property's name stands for."""
    known = name.lower().startswith(_PREFIXES)
    kafka = ("." in name or name in _KAFKA_WITHOUT_DOT) and not known
    return f"kafka.{name}" if kafka else name


def identity(name: str) -> str:
    """What the connector takes as one option: case and hyphens do not count, but in what names a cluster."""
    if name.lower().startswith("cluster."):
        return "cluster" + name[len("cluster") :]
    return name.lower() if "." in name else name.lower().replace("-", "")
