"""The builder of a read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from dynamic_kafka import _jvm, errors
from dynamic_kafka._base import FORMAT, DynamicKafkaBuilder, identity
from dynamic_kafka._values import Value
from dynamic_kafka.offsets import FALLBACK, Kind, OffsetsInitializer
from dynamic_kafka.options import ChangeData, EndingOffsets, Format, ParseErrors, ReadOption, StartingOffsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from typing_extensions import Self

_EXCLUSIVE = {"streamids": "streamPattern", "streampattern": "streamIds"}


class DynamicKafkaReaderBuilder(DynamicKafkaBuilder[ReadOption]):
    """Builder of DataFrames that read streams. ``DynamicKafka.builder(spark)`` creates it.

    A builder collects string options: ``spark.readStream.format("dynamic-kafka").option(...)`` is equivalent.
    Every setter returns the builder; if two setters set the same option, the later one wins. The connector checks
    each name and value in the call that sets it, and all of them together in ``load``.
    """

    _writes = False

    def __init__(self, spark: SparkSession | None = None) -> None:
        super().__init__()
        self._spark = spark

    def set_stream_ids(self, *ids: str | Iterable[str]) -> Self:
        """Subscribes to streams by id. Required, unless ``set_stream_pattern`` is called.

        Args:
            ids: Stream ids, or iterables of stream ids.

        Raises:
            TypeError: if an id is not a str.
            DynamicKafkaValueError: if an id is blank or contains ``;`` or ``,``, or a pattern is set.
        """
        names = [name for entry in ids for name in ([entry] if isinstance(entry, str) else entry)]
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"a stream id must be a str, not {type(name).__name__}")
            if not name.strip() or ";" in name or "," in name:
                raise errors.invalid_option(
                    "streamIds", name, "a stream id is not blank and has no ';' and no ','."
                )
        return self._put("streamIds", ";".join(names))

    def set_stream_pattern(self, pattern: str | re.Pattern[str]) -> Self:
        """Subscribes to all streams whose whole id matches a pattern, also those that are added later.

        Args:
            pattern: A Java regular expression, as text or as a compiled pattern whose text is used.

        Raises:
            DynamicKafkaValueError: if stream ids are set.
        """
        return self._put("streamPattern", pattern.pattern if isinstance(pattern, re.Pattern) else pattern)

    def set_starting_offsets(self, offsets: OffsetsInitializer | StartingOffsets) -> Self:
        """Sets where a new query starts. A query with a checkpoint resumes at its checkpoint. Default: earliest.

        Args:
            offsets: An ``OffsetsInitializer``, ``earliest``, ``latest`` or ``committed``.

        Raises:
            DynamicKafkaValueError: if start and end are both committed offsets with different fallbacks.
        """
        return self._set_offsets("starting", offsets)

    def set_ending_offsets(self, offsets: OffsetsInitializer | EndingOffsets) -> Self:
        """Sets where reading ends. Default: streaming queries have no end, batch queries end at latest.

        A streaming query that reaches the end keeps running and is idle; with ``Trigger.AvailableNow`` it stops.

        Args:
            offsets: An ``OffsetsInitializer``, ``latest`` or ``committed``.

        Raises:
            DynamicKafkaValueError: if start and end are both committed offsets with different fallbacks.
        """
        return self._set_offsets("ending", offsets)

    def set_bounded(self, offsets: OffsetsInitializer | EndingOffsets) -> Self:
        """Calls ``set_ending_offsets``; the name is that of Flink's builder.

        Args:
            offsets: As for ``set_ending_offsets``.
        """
        return self.set_ending_offsets(offsets)

    def set_format(self, format: Format | Literal["metadata"]) -> Self:
        """Sets the format of the values.

        The formats of changes are ``debezium-json``, ``debezium-avro-confluent``, ``canal-json``, ``maxwell-json``
        and ``ogg-json``.

        Args:
            format: ``raw`` (default), ``string``, ``json``, ``csv``, ``avro``, ``avro-confluent``,
                ``json-confluent``, ``protobuf`` or ``protobuf-confluent``. Options of it are set with
                ``set_options({"json.timestampFormat": ...})``. ``metadata``: format, schema and options as the
                metadata has them. A class of your own: ``set_option("format", "class:<name>")``.
        """
        return self._put("format", format)

    def set_key_format(self, format: Format, *fields: str) -> Self:
        """Sets the format of the keys.

        Args:
            format: As for ``set_format``, but not ``metadata``.
            fields: The columns of the schema that keys contain; none with ``raw`` and ``string``.
        """
        self._put("keyFormat", format)
        return self._put("keyFields", ";".join(fields)) if fields else self

    def set_schema(self, schema: str | StructType) -> Self:
        """Sets the columns of the records.

        Args:
            schema: A ``StructType``, its JSON, DDL such as ``"id BIGINT, name STRING"``, an Avro schema, or
                ``"registry"``.
        """
        return self._put("schema", schema if isinstance(schema, str) else schema.json())

    def set_metadata_columns(self, *names: str) -> Self:
        """Sets the columns after the decoded ones, in this order.

        Args:
            names: Names such as ``offset`` and ``cluster``. Without any, there are no such columns.
        """
        return self._put("metadataColumns", ";".join(names))

    def set_change_data(self, mode: ChangeData) -> Self:
        """Sets what a record of a format of changes becomes.

        Args:
            mode: ``rows`` (default), the rows before and after with a column ``_change_type``, or ``envelope``.
                With any other format ``upsert``: a table with the key of ``set_key_format``, in which a null
                value deletes.
        """
        return self._put("changeData", mode)

    def set_parse_errors(self, policy: ParseErrors) -> Self:
        """Sets what happens when a key or value cannot be decoded.

        Args:
            policy: ``fail`` (default), ``null``, ``drop``, ``keep``, or ``dead-letter``, with the option
                ``deadLetterTopic``.
        """
        return self._put("parseErrors", policy)

    def load(self) -> DataFrame:
        """Returns a streaming DataFrame.

        Its columns are those of Spark's Kafka source: ``key`` and ``value`` (binary), ``topic`` (string),
        ``partition`` (int), ``offset`` (long), ``timestamp``, ``timestampType`` (int), with the option
        ``includeHeaders`` also ``headers``; then ``cluster`` and ``stream`` (string). With ``set_format``, they
        are the decoded columns, then the metadata columns.

        Raises:
            DynamicKafkaError: if there is no active session, or the session does not have the connector's jar of
                this version.
            pyspark.errors.PySparkException: with a condition ``DYNAMIC_KAFKA.*``, if the connector refuses the
                options or a cluster.
        """
        spark = _jvm.session(self._spark)
        options = self._prepared(spark)
        return spark.readStream.format(FORMAT).options(**options).load()

    def load_batch(self) -> DataFrame:
        """Returns a batch DataFrame with the columns of ``load``. Topology and offsets are determined once.

        Raises:
            DynamicKafkaError: as ``load``.
            pyspark.errors.PySparkException: as ``load``.
        """
        spark = _jvm.session(self._spark)
        options = self._prepared(spark)
        return spark.read.format(FORMAT).options(**options).load()

    def _set_offsets(self, kind: Kind, offsets: OffsetsInitializer | str) -> Self:
        names = [f"{kind}Offsets", f"{kind}Timestamp", f"{kind}OffsetsByTimestamp"]
        options = offsets.to_options(kind) if isinstance(offsets, OffsetsInitializer) else {names[0]: offsets}
        if isinstance(offsets, OffsetsInitializer) and offsets.function is not None:
            self._functions[str(offsets.value)] = offsets.function
        fallback = options.get(FALLBACK)
        shared = self._value("endingOffsets" if kind == "starting" else "startingOffsets") == "committed"
        if shared and fallback is not None and self._value(FALLBACK) not in (None, fallback):
            reason = (
                f"starting and ending offsets are both committed, and share it: it is '{self._value(FALLBACK)}'."
            )
            raise errors.invalid_option(FALLBACK, fallback, reason)
        # A fallback stays: it has no effect on other offsets, and the user may have set it for a later call.
        for name in names:
            self._options.pop(identity(name), None)
        return self._put_all(options)

    def _put(self, name: str, value: Value, cluster: str | None = None) -> Self:
        other = _EXCLUSIVE.get(identity(name))
        if other is not None and self._value(other) is not None:
            reason = f"'{other}' is also set, but only one of the two options is allowed."
            raise errors.invalid_option(name, str(value), reason)
        return super()._put(name, value, cluster)
