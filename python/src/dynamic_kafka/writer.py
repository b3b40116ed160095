"""The builder of a write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from dynamic_kafka import _jvm
from dynamic_kafka._base import FORMAT, DynamicKafkaBuilder
from dynamic_kafka.options import (
    ChangeData,
    ClusterDistribution,
    ClusterRouting,
    DeliveryGuarantee,
    Partitioner,
    WriteFailover,
    WriteOption,
    WrittenFormat,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType
    from typing_extensions import Self


class Trigger(TypedDict, total=False):
    """One of the arguments of PySpark's ``DataStreamWriter.trigger``."""

    processingTime: str
    availableNow: bool
    realTime: str


class DynamicKafkaWriterBuilder(DynamicKafkaBuilder[WriteOption]):
    """Builder of queries and jobs that write to streams. ``DynamicKafka.writer(df)`` creates it.

    A builder collects string options: ``df.writeStream.format("dynamic-kafka").option(...)`` is equivalent.
    Every setter returns the builder; if two setters set the same option, the later one wins. The connector checks
    each name and value in the call that sets it, and all of them together in ``start`` or ``save``.

    Args:
        frame: The DataFrame to write, with a column ``value`` (string or binary) and optional columns ``key``
            (string or binary), ``headers``, ``timestamp``, ``partition``, ``topic``, ``stream`` and ``cluster``.
            Other columns are ignored. With ``set_format``, they are the fields of the records.

    Raises:
        TypeError: if ``frame`` is not a DataFrame of PySpark.
    """

    _writes = True

    def __init__(self, frame: DataFrame) -> None:
        super().__init__()
        if not _jvm.is_dataframe(frame):
            raise TypeError(f"DynamicKafka.writer takes a DataFrame of PySpark, not {type(frame).__name__}")
        self._frame = frame

    def set_stream_id(self, stream_id: str) -> Self:
        """Sets the stream of rows whose column ``stream`` is absent or null. Required without that column.

        Args:
            stream_id: The id of the stream in the metadata.
        """
        return self.set_option("streamId", stream_id)

    def set_format(self, format: WrittenFormat | Literal["metadata"]) -> Self:
        """Sets the format of the values.

        Args:
            format: ``raw`` (default), ``string``, ``json``, ``csv``, ``avro``, ``avro-confluent``,
                ``json-confluent``, or, for changes, ``debezium-json`` or ``canal-json``. ``raw`` and ``string``
                write the column ``value``, the others all columns that do not route the record. Options of it
                are set with ``set_options({"json.timestampFormat": ...})``. ``metadata``: format, schema and
                options as the metadata has them. A class of your own: ``set_option("format", "class:<name>")``.
        """
        return self.set_option("format", format)

    def set_key_format(self, format: WrittenFormat, *fields: str) -> Self:
        """Sets the format of the keys.

        Args:
            format: As for ``set_format``, but not ``metadata``. ``raw`` and ``string`` write the column ``key``.
            fields: The columns that keys contain; none with ``raw`` and ``string``.
        """
        self.set_option("keyFormat", format)
        return self.set_option("keyFields", ";".join(fields)) if fields else self

    def set_schema(self, schema: str | StructType) -> Self:
        """Sets the columns of the records. Default: those of the DataFrame.

        Args:
            schema: A ``StructType``, its JSON, DDL such as ``"id BIGINT, name STRING"``, an Avro schema, or
                ``"registry"``. The columns of the DataFrame are bound by name, and cast if that loses nothing; a
                missing one is null.
        """
        return self.set_option("schema", schema if isinstance(schema, str) else schema.json())

    def set_change_data(self, mode: ChangeData) -> Self:
        """Sets how rows with a column ``_change_type`` are written, in formats that have no changes of their own.

        Args:
            mode: ``upsert``: a row with ``delete`` is written as a null value. Requires ``set_key_format`` with
                fields.
        """
        return self.set_option("changeData", mode)

    def set_cluster_routing(self, routing: ClusterRouting) -> Self:
        """Sets which clusters of the stream get a record. The column ``cluster`` of a row takes precedence.

        Args:
            routing: ``key`` (default): one cluster, chosen by a hash of the key; records without a key are
                distributed over the clusters by task. ``first``: the first cluster in the metadata. ``all``: every
                cluster.
        """
        return self.set_option("clusterRouting", routing)

    def set_write_failover(self, failover: WriteFailover) -> Self:
        """Sets what happens to the records of a cluster that does not respond when a batch starts.

        Args:
            failover: ``none`` (default): the batch fails if it has records for the cluster. ``next``: the other
                clusters of the stream get them; requires ``clusterRouting`` ``key`` or ``first``.
        """
        return self.set_option("writeFailover", failover)

    def set_cluster_distribution(self, distribution: ClusterDistribution) -> Self:
        """Sets whether Spark distributes rows to tasks by their target cluster, for fewer transactions.

        Args:
            distribution: ``auto``: with ``exactly-once``, if the rows have a column ``cluster`` that cannot be
                null. It costs a shuffle. ``off`` (default).
        """
        return self.set_option("clusterDistribution", distribution)

    def set_delivery_guarantee(self, guarantee: DeliveryGuarantee) -> Self:
        """Sets the delivery guarantee.

        Args:
            guarantee: ``none``: fire and forget. ``at-least-once`` (default): a batch is complete when every
                record is acknowledged. ``exactly-once``: consumers with ``isolation.level=read_committed`` see
                each batch once on every cluster, unless the query ends with ``PARTIAL_COMMIT``; it uses Kafka's
                transactions (KIP-98).
        """
        return self.set_option("deliveryGuarantee", guarantee)

    def set_transactional_id_prefix(self, prefix: str) -> Self:
        """Sets the prefix of transactional ids, for prefixed ACLs. It has an effect with ``exactly-once`` only.

        Args:
            prefix: The prefix. Default: ``dynamic-kafka``.
        """
        return self.set_option("transactionalIdPrefix", prefix)

    def set_partitioner(self, partitioner: Partitioner) -> Self:
        """Sets how the partition of a record is chosen if its row has no ``partition``.

        Args:
            partitioner: ``default``: as Kafka's producer does. ``fixed``: one partition per task. ``round-robin``:
                all partitions in turn. A class that implements Kafka's ``Partitioner``:
                ``set_option("partitioner", "<name>")``.
        """
        return self.set_option("partitioner", partitioner)

    def start(
        self, checkpoint: str | os.PathLike[str], *, name: str | None = None, trigger: Trigger | None = None
    ) -> StreamingQuery:
        """Starts a query that writes a streaming DataFrame.

        Args:
            checkpoint: Path or Hadoop URI of the checkpoint, which holds the progress of the query and, with
                ``exactly-once``, its commit decisions.
            name: The name of the query. Default: it has none.
            trigger: ``{"processingTime": "10 seconds"}``, ``{"availableNow": True}`` or
                ``{"realTime": "5 minutes"}``, as in PySpark. Default: a batch begins when the last one ends.

        Returns:
            The running query.

        Raises:
            DynamicKafkaError: if the session does not have the connector's jar of this version.
            pyspark.errors.PySparkException: with a condition ``DYNAMIC_KAFKA.*``, if the connector refuses the
                options.
        """
        writer = self.write_stream().option("checkpointLocation", os.fspath(checkpoint))
        if name is not None:
            writer = writer.queryName(name)
        if trigger is not None:
            arguments: dict[str, Any] = {**trigger}
            writer = writer.trigger(**arguments)
        return writer.start()

    def write_stream(self) -> DataStreamWriter:
        """Returns Spark's writer with these options, to set an output mode or what else Spark has.

        The option ``checkpointLocation`` has to be set before ``start()``.

        Raises:
            DynamicKafkaError: as ``start``.
        """
        options = self._ready()
        stream = self._frame.writeStream
        spark = self._frame.sparkSession
        if not _jvm.is_connect(spark):
            # Chooses a sink that Spark allows in real-time mode.
            api = _jvm.api(_jvm.gateway(spark, "A writer"))
            stream._jwrite = api.streamWriter(self._frame._jdf)
        return stream.format(FORMAT).options(**options)

    def save(self) -> None:
        """Writes a batch DataFrame and returns when all records are written.

        Raises:
            DynamicKafkaError: as ``start``.
            pyspark.errors.PySparkException: with a condition ``DYNAMIC_KAFKA.*``, if the write fails.
        """
        self._frame.write.format(FORMAT).options(**self._ready()).mode("append").save()

    def _ready(self) -> dict[str, str]:
        return self._prepared(_jvm.session(self._frame.sparkSession))
