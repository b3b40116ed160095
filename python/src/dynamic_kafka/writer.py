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
    from typing_extensions import Self

ClusterRouting = Literal["key", "first", "all"]
DeliveryGuarantee = Literal["none", "at-least-once", "exactly-once"]


class DynamicKafkaWriterBuilder(DynamicKafkaBuilder):
    """Writes a DataFrame to the clusters of a stream. Made by ``DynamicKafka.writer(df)``.

    It makes string options and nothing else: everything here can be written with
    ``df.writeStream.format("dynamic-kafka").option(...)`` as well. Every setter returns the builder; where two set
    the same option, the later one holds. What is left out, and what does not fit together, is told by the
    connector when the query or the job is started.

    Args:
        frame: What is written, with a column ``value`` (string or binary), and if they are there ``key``,
            ``headers``, ``timestamp``, ``partition``, ``topic``, ``stream`` and ``cluster``. Other columns are
            ignored.

    Raises:
        TypeError: if it is no DataFrame of PySpark.
    """

    def __init__(self, frame: DataFrame) -> None:
        super().__init__()
        if not _jvm.is_dataframe(frame):
            raise TypeError(f"DynamicKafka.writer takes a DataFrame of PySpark, not {type(frame).__name__}")
        self._frame = frame

    def set_stream_id(self, stream_id: str) -> Self:
        """The stream of rows that do not name one in a column ``stream``. Required without that column.

        Args:
            stream_id: As the metadata service knows it.

        Raises:
            TypeError: for something else than a str.
            ValueError: for an empty one.
        """
        if not isinstance(stream_id, str):
            raise TypeError(f"a stream id is a str, not {type(stream_id).__name__}")
        if not stream_id.strip():
            raise ValueError(f"a stream id is not empty: {stream_id!r}")
        return self._put("streamId", stream_id)

    def set_cluster_routing(self, routing: ClusterRouting) -> Self:
        """Which of the stream's clusters a record goes to. A row's own ``cluster`` goes before that.

        Args:
            routing: ``key`` (default): to one, told by a hash of the key; without a key, each task of a batch
                takes one in turn. ``first``: to the first one in the metadata. ``all``: to every one.
        """
        return self.set_option("clusterRouting", routing)

    def set_delivery_guarantee(self, guarantee: DeliveryGuarantee) -> Self:
        """What is promised about a batch.

        Args:
            guarantee: ``none``: nobody waits for what is sent. ``at-least-once`` (default): a batch is done when
                every record is acknowledged. ``exactly-once``: a batch appears once on every cluster, or not at
                all, for readers with ``read_committed``.
        """
        return self.set_option("deliveryGuarantee", guarantee)

    def set_transactional_id_prefix(self, prefix: str) -> Self:
        """How transactional ids start, for ACLs. Only ``exactly-once`` has them.

        Args:
            prefix: Default: ``dynamic-kafka``.
        """
        return self.set_option("transactionalIdPrefix", prefix)

    def set_partitioner(self, partitioner: str) -> Self:
        """Which partition a record goes to whose row has no ``partition``.

        Args:
            partitioner: ``default``: Kafka's own way. ``fixed``: one partition for each task. ``round-robin``: all
                in turn. Or the name of a class that implements Kafka's ``Partitioner`` and is on the class path.
        """
        return self.set_option("partitioner", partitioner)

    def start(self, checkpoint: str | os.PathLike[str]) -> StreamingQuery:
        """Starts a query that writes a streaming DataFrame, as fast as batches follow each other.

        Args:
            checkpoint: Where the query keeps its progress, and with ``exactly-once`` its decisions: any URI that
                Hadoop can write.

        Raises:
            DynamicKafkaError: if the connector's jar is not in the session or of another version.
            pyspark.errors.PySparkException: from the connector, with a condition ``DYNAMIC_KAFKA.*``.
        """
        return self.write_stream().option("checkpointLocation", os.fspath(checkpoint)).start()

    def write_stream(self) -> DataStreamWriter:
        """Spark's own writer with these options, for a trigger, an output mode or a name of the query.

        It needs the option ``checkpointLocation`` before its ``start()``. Raises a ``DynamicKafkaError`` as
        ``start`` does.
        """
        return self._frame.writeStream.format(FORMAT).options(**self._ready())

    def save(self) -> None:
        """Writes a batch DataFrame, and returns when it is written. Raises as ``start`` does."""
        self._frame.write.format(FORMAT).options(**self._ready()).mode("append").save()

    def _ready(self) -> dict[str, str]:
        return self._prepared(_jvm.session(self._frame.sparkSession))
