"""The builder of a read: setters in, options out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from dynamic_kafka import _bridge, _jvm
from dynamic_kafka._values import milliseconds, option_text
from dynamic_kafka.offsets import FALLBACK, Kind, OffsetsInitializer
from dynamic_kafka.services import JvmMetadataService, KafkaMetadataService

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "dynamic-kafka"

# What tells a Kafka property from an option of the connector is the dot. These Kafka properties have none.
_KAFKA_WITHOUT_DOT = ("acks", "retries")
_PREFIXES = ("kafka.", "cluster.", "metadataservice.")
_EXCLUSIVE = {"streamids": "streamPattern", "streampattern": "streamIds"}


class DynamicKafkaReaderBuilder:
    """Builds a DataFrame over streams. Made by ``DynamicKafka.builder(spark)``.

    It makes string options and nothing else: everything here can be written with
    ``spark.readStream.format("dynamic-kafka").option(...)`` as well. Every setter returns the builder; where two
    set the same option, the later one holds. What is left out, and what does not fit together, is told by the
    connector when the DataFrame is made.
    """

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._spark = spark
        self._service: KafkaMetadataService | None = None
        # By what the connector takes as the same option: name as it was given, value.
        self._options: dict[str, tuple[str, str]] = {}

    def set_kafka_metadata_service(
        self, service: JvmMetadataService | KafkaMetadataService
    ) -> DynamicKafkaReaderBuilder:
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

    def set_stream_ids(self, *ids: str | Iterable[str]) -> DynamicKafkaReaderBuilder:
        """Subscribes to streams by name. Either this or ``set_stream_pattern``.

        Args:
            ids: Stream ids, or one iterable of them.

        Raises:
            ValueError: for no id, an empty one, one with ``;`` or ``,``, or if a pattern is set.
        """
        names = [name for entry in ids for name in ([entry] if isinstance(entry, str) else entry)]
        if not names:
            raise ValueError("set_stream_ids takes at least one stream id")
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"a stream id is a str, not {type(name).__name__}")
            if not name.strip() or ";" in name or "," in name:
                raise ValueError(f"a stream id is not empty and has no ';' and no ',': {name!r}")
        return self._put("streamIds", ";".join(names))

    def set_stream_pattern(self, pattern: str | re.Pattern[str]) -> DynamicKafkaReaderBuilder:
        """Subscribes to all streams whose whole id matches; they enter and leave as they come and go.

        Args:
            pattern: A regular expression of Java.

        Raises:
            ValueError: if stream ids are set.
        """
        return self._put("streamPattern", pattern.pattern if isinstance(pattern, re.Pattern) else pattern)

    def set_starting_offsets(self, offsets: OffsetsInitializer | str) -> DynamicKafkaReaderBuilder:
        """Where a new query starts. A query with a checkpoint goes on from there.

        Args:
            offsets: An OffsetsInitializer, or the text of the option ``startingOffsets``. Default: earliest.
        """
        return self._set_offsets("starting", offsets)

    def set_ending_offsets(self, offsets: OffsetsInitializer | str) -> DynamicKafkaReaderBuilder:
        """Where reading ends. Default: never in a streaming query, latest in a batch one.

        A streaming query stays up and idles at its ends; with ``Trigger.AvailableNow`` it ends there.

        Args:
            offsets: An OffsetsInitializer, or the text of the option ``endingOffsets``.
        """
        return self._set_offsets("ending", offsets)

    def set_bounded(self, offsets: OffsetsInitializer | str) -> DynamicKafkaReaderBuilder:
        """The name that Flink has for ``set_ending_offsets``."""
        return self.set_ending_offsets(offsets)

    def set_property(self, name: str, value: str | int | float | bool) -> DynamicKafkaReaderBuilder:
        """Sets a Kafka client property for all clusters, or an option of the connector.

        Args:
            name: ``kafka.isolation.level`` or ``isolation.level``. A name without a dot, such as
                ``failOnDataLoss``, is an option of the connector; those with ``cluster.`` and
                ``metadataService.`` are so, too.
            value: The value. Credentials are better kept in the metadata service: Spark shows options in plans.
        """
        return self._put(_qualified(name), option_text(name, value))

    def set_properties(self, properties: Mapping[str, str | int | float | bool]) -> DynamicKafkaReaderBuilder:
        """``set_property`` for each entry.

        Args:
            properties: Values by name.
        """
        for name, value in properties.items():
            self.set_property(name, value)
        return self

    def set_cluster_property(
        self, cluster_id: str, name: str, value: str | int | float | bool
    ) -> DynamicKafkaReaderBuilder:
        """Sets a Kafka client property or an option for one cluster. It wins over all other places.

        Args:
            cluster_id: The cluster's id in the metadata, letter case included.
            name: As for ``set_property``: ``kafka.sasl.jaas.config`` or ``sasl.jaas.config``, or an option that
                can differ between clusters: ``startingOffsets``, ``maxOffsetsPerTrigger``.
            value: The value.

        Raises:
            ValueError: for a cluster id that is none: 1 to 128 letters, digits, ``.``, ``_``, ``-``.
        """
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,128}", cluster_id):
            raise ValueError(f"a cluster id is 1 to 128 letters, digits, '.', '_', '-', not {cluster_id!r}")
        return self._put(f"cluster.{cluster_id}.{_qualified(name)}", option_text(name, value))

    def set_metadata_discovery_interval(self, interval: str | int | timedelta) -> DynamicKafkaReaderBuilder:
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

    def set_option(self, name: str, value: str | int | float | bool) -> DynamicKafkaReaderBuilder:
        """Sets an option by its name, to the letter.

        Args:
            name: As in ``spark.readStream.option(...)``: Kafka properties with their ``kafka.`` prefix.
            value: The value.
        """
        return self._put(name, option_text(name, value))

    def options(self) -> dict[str, str]:
        """The options that ``load()`` will use; no Spark is needed for it.

        For a service written in Python, ``load()`` adds ``metadataService.handle``.
        """
        return dict(self._options.values())

    def load(self) -> DataFrame:
        """A streaming DataFrame.

        Its columns are those of Spark's Kafka source, then ``cluster`` and ``stream``.

        Raises:
            DynamicKafkaError: if there is no session, or the connector's jar is not in it or of another version.
            pyspark.errors.PySparkException: from the connector, with a condition ``DYNAMIC_KAFKA.*``.
        """
        spark, options = self._prepared()
        return spark.readStream.format(FORMAT).options(**options).load()

    def load_batch(self) -> DataFrame:
        """A batch DataFrame: the topology and the offsets of one moment. Raises as ``load`` does."""
        spark, options = self._prepared()
        return spark.read.format(FORMAT).options(**options).load()

    def _prepared(self) -> tuple[SparkSession, dict[str, str]]:
        spark = _jvm.session(self._spark)
        options = self.options()
        if self._service is None and _jvm.is_connect(spark):
            return spark, options
        gateway = _jvm.gateway(spark, "A metadata service written in Python")
        api = _jvm.api(gateway)
        if self._service is not None:
            options["metadataService.handle"] = _bridge.register(self._service, gateway, api)
        return spark, options

    def _set_offsets(self, kind: Kind, offsets: OffsetsInitializer | str) -> DynamicKafkaReaderBuilder:
        names = [f"{kind}Offsets", f"{kind}Timestamp", f"{kind}OffsetsByTimestamp"]
        options = offsets.to_options(kind) if isinstance(offsets, OffsetsInitializer) else {names[0]: offsets}
        fallback = options.get(FALLBACK)
        shared = self._value("endingOffsets" if kind == "starting" else "startingOffsets") == "committed"
        if shared and fallback is not None and self._value(FALLBACK) not in (None, fallback):
            raise ValueError(
                f"start and end are both committed offsets and share one fallback, {FALLBACK}: "
                f"'{self._value(FALLBACK)}' and '{fallback}' exclude each other"
            )
        # A fallback stays: it does nothing to other offsets, and may be the user's own for what comes later.
        for name in names:
            self._options.pop(_identity(name), None)
        return self._put_all(options)

    def _value(self, name: str) -> str | None:
        return self._options.get(_identity(name), (name, None))[1]

    def _put_all(self, options: Mapping[str, str]) -> DynamicKafkaReaderBuilder:
        for name, value in options.items():
            self._put(name, value)
        return self

    def _put(self, name: str, value: str) -> DynamicKafkaReaderBuilder:
        identity = _identity(name)
        if _EXCLUSIVE.get(identity, "").lower() in self._options:
            raise ValueError(
                "streamIds (set_stream_ids) and streamPattern (set_stream_pattern) exclude each other, and "
                f"{_EXCLUSIVE[identity]} is set already"
            )
        if identity == "metadataservice":
            self._service = None
        self._options[identity] = (name, value)
        return self


def _qualified(name: str) -> str:
    """The option that a property's name stands for."""
    known = name.lower().startswith(_PREFIXES)
    kafka = ("." in name or name in _KAFKA_WITHOUT_DOT) and not known
    return f"kafka.{name}" if kafka else name


def _identity(name: str) -> str:
    """What the connector takes as one option: case and hyphens do not count, but in what names a cluster."""
    if name.lower().startswith("cluster."):
        return "cluster" + name[len("cluster") :]
    return name.lower() if "." in name else name.lower().replace("-", "")
