"""The builder of a write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from dynamic_kafka import _jvm
from dynamic_kafka._base import FORMAT, DynamicKafkaBuilder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType
    from typing_extensions import Self

ClusterRouting = Literal["key", "first", "all"]
WriteFailover = Literal["none", "next"]
ClusterDistribution = Literal["auto", "off"]
DeliveryGuarantee = Literal["none", "at-least-once", "exactly-once"]


class DynamicKafkaWriterBuilder(DynamicKafkaBuilder):
    """Builder of queries and jobs that write to streams. ``DynamicKafka.writer(df)`` creates it.

    A builder collects string options: ``df.writeStream.format("dynamic-kafka").option(...)`` is equivalent.
    Every setter returns the builder; if two setters set the same option, the later one wins. The connector checks
    that the options are complete and consistent when the query or the job starts.

    Args:
        frame: The DataFrame to write, with a column ``value`` (string or binary) and optional columns ``key``
            (string or binary), ``headers``, ``timestamp``, ``partition``, ``topic``, ``stream`` and ``cluster``.
            Other columns are ignored. With ``set_format``, they are the fields of the records.

    Raises:
        TypeError: if ``frame`` is not a DataFrame of PySpark.
    """

    def __init__(self, frame: DataFrame) -> None:
        super().__init__()
        if not _jvm.is_dataframe(frame):
            raise TypeError(f"DynamicKafka.writer takes a DataFrame of PySpark, not {type(frame).__name__}")
        self._frame = frame

    def set_stream_id(self, stream_id: str) -> Self:
        """Sets the stream of rows whose column ``stream`` is absent or null. Required without that column.

        Args:
            stream_id: The id of the stream in the metadata.

        Raises:
            TypeError: if ``stream_id`` is not a str.
            ValueError: if ``stream_id`` is blank.
        """
        if not isinstance(stream_id, str):
            raise TypeError(f"a stream id must be a str, not {type(stream_id).__name__}")
        if not stream_id.strip():
            raise ValueError(f"a stream id must not be blank: {stream_id!r}")
        return self._put("streamId", stream_id)

    def set_format(self, format: str) -> Self:
        """Sets the format of the values.

        Args:
            format: ``raw`` (default), ``string``, ``json``, ``csv``, ``avro``, ``avro-confluent``,
                ``json-confluent``, or, for changes, ``debezium-json`` or ``canal-json``. ``raw`` and ``string``
                write the column ``value``, the others all columns that do not route the record. Options of it
                are set with ``set_option("json.timestampFormat", ...)``. ``metadata``: format, schema and options
                as the metadata has them. ``class:<name>``: a class on the class path.
        """
        return self.set_option("format", format)

    def set_key_format(self, format: str, *fields: str) -> Self:
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

    def set_change_data(self, mode: str) -> Self:
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

    def set_partitioner(self, partitioner: str) -> Self:
        """Sets how the partition of a record is chosen if its row has no ``partition``.

        Args:
            partitioner: ``default``: as Kafka's producer does. ``fixed``: one partition per task. ``round-robin``:
                all partitions in turn. Or the name of a class on the class path that implements Kafka's
                ``Partitioner``.
        """
        return self.set_option("partitioner", partitioner)

    def start(self, checkpoint: str | os.PathLike[str]) -> StreamingQuery:
        """Starts a query that writes a streaming DataFrame with Spark's default trigger.

        Args:
            checkpoint: Path or Hadoop URI of the checkpoint, which holds the progress of the query and, with
                ``exactly-once``, its commit decisions.

        Returns:
            The running query.

        Raises:
            DynamicKafkaError: if the session does not have the connector's jar of this version.
            pyspark.errors.PySparkException: with a condition ``DYNAMIC_KAFKA.*``, if the connector refuses the
                options.
        """
        return self.write_stream().option("checkpointLocation", os.fspath(checkpoint)).start()

    def write_stream(self) -> DataStreamWriter:
        """Returns Spark's writer with these options, to set a trigger, an output mode or a query name.

        The option ``checkpointLocation`` has to be set before ``start()``.

        Raises:
            DynamicKafkaError: as ``start``.
        """
        return self._frame.writeStream.format(FORMAT).options(**self._ready())

    def save(self) -> None:
        """Writes a batch DataFrame and returns when all records are written.

        Raises:
            DynamicKafkaError: as ``start``.
            pyspark.errors.PySparkException: with a condition ``DYNAMIC_KAFKA.*``, if the write fails.
        """
        self._frame.write.format(FORMAT).options(**self._ready()).mode("append").save()

    def _ready(self) -> dict[str, str]:
        return self._prepared(_jvm.session(self._frame.sparkSession))
