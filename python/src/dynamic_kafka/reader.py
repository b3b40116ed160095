"""The builder of a read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dynamic_kafka import _jvm
from dynamic_kafka._base import FORMAT, DynamicKafkaBuilder, identity
from dynamic_kafka.offsets import FALLBACK, Kind, OffsetsInitializer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Self

_EXCLUSIVE = {"streamids": "streamPattern", "streampattern": "streamIds"}


class DynamicKafkaReaderBuilder(DynamicKafkaBuilder):
    """Builds a DataFrame over streams. Made by ``DynamicKafka.builder(spark)``.

    It makes string options and nothing else: everything here can be written with
    ``spark.readStream.format("dynamic-kafka").option(...)`` as well. Every setter returns the builder; where two
    set the same option, the later one holds. What is left out, and what does not fit together, is told by the
    connector when the DataFrame is made.
    """

    def __init__(self, spark: SparkSession | None = None) -> None:
        super().__init__()
        self._spark = spark

    def set_stream_ids(self, *ids: str | Iterable[str]) -> Self:
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

    def set_stream_pattern(self, pattern: str | re.Pattern[str]) -> Self:
        """Subscribes to all streams whose whole id matches; they enter and leave as they come and go.

        Args:
            pattern: A regular expression of Java.

        Raises:
            ValueError: if stream ids are set.
        """
        return self._put("streamPattern", pattern.pattern if isinstance(pattern, re.Pattern) else pattern)

    def set_starting_offsets(self, offsets: OffsetsInitializer | str) -> Self:
        """Where a new query starts. A query with a checkpoint goes on from there.

        Args:
            offsets: An OffsetsInitializer, or the text of the option ``startingOffsets``. Default: earliest.
        """
        return self._set_offsets("starting", offsets)

    def set_ending_offsets(self, offsets: OffsetsInitializer | str) -> Self:
        """Where reading ends. Default: never in a streaming query, latest in a batch one.

        A streaming query stays up and idles at its ends; with ``Trigger.AvailableNow`` it ends there.

        Args:
            offsets: An OffsetsInitializer, or the text of the option ``endingOffsets``.
        """
        return self._set_offsets("ending", offsets)

    def set_bounded(self, offsets: OffsetsInitializer | str) -> Self:
        """The name that Flink has for ``set_ending_offsets``."""
        return self.set_ending_offsets(offsets)

    def load(self) -> DataFrame:
        """A streaming DataFrame.

        Its columns are those of Spark's Kafka source, then ``cluster`` and ``stream``.

        Raises:
            DynamicKafkaError: if there is no session, or the connector's jar is not in it or of another version.
            pyspark.errors.PySparkException: from the connector, with a condition ``DYNAMIC_KAFKA.*``.
        """
        spark = _jvm.session(self._spark)
        options = self._prepared(spark)
        return spark.readStream.format(FORMAT).options(**options).load()

    def load_batch(self) -> DataFrame:
        """A batch DataFrame: the topology and the offsets of one moment. Raises as ``load`` does."""
        spark = _jvm.session(self._spark)
        options = self._prepared(spark)
        return spark.read.format(FORMAT).options(**options).load()

    def _set_offsets(self, kind: Kind, offsets: OffsetsInitializer | str) -> Self:
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
            self._options.pop(identity(name), None)
        return self._put_all(options)

    def _put(self, name: str, value: str) -> Self:
        other = _EXCLUSIVE.get(identity(name))
        if other is not None and self._value(other) is not None:
            raise ValueError(
                "streamIds (set_stream_ids) and streamPattern (set_stream_pattern) exclude each other, and "
                f"{other} is set already"
            )
        return super()._put(name, value)
