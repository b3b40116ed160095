"""Where users begin."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dynamic_kafka._configure import configure as _configure
from dynamic_kafka.reader import DynamicKafkaReaderBuilder
from dynamic_kafka.writer import DynamicKafkaWriterBuilder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class DynamicKafka:
    """Entry to Dynamic Kafka for Spark.

    Example:
        >>> spark = DynamicKafka.configure(SparkSession.builder.appName("orders")).getOrCreate()
        >>> orders = (
        ...     DynamicKafka.builder(spark)
        ...     .set_kafka_metadata_service(FileMetadataService("streams.yaml"))
        ...     .set_stream_ids("orders", "payments")
        ...     .load()
        ... )
        >>> copies = (
        ...     DynamicKafka.writer(orders.select("key", "value"))
        ...     .set_kafka_metadata_service(FileMetadataService("streams.yaml"))
        ...     .set_stream_id("copies")
        ...     .start("/checkpoints/copies")
        ... )
    """

    @staticmethod
    def configure(
        builder: SparkSession.Builder,
        extra_packages: str | Iterable[str] = (),
        jars: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    ) -> SparkSession.Builder:
        """Adds the connector's jar to a session that is about to be built.

        What the builder has in ``spark.jars.packages`` and ``spark.jars`` stays, and calling it twice adds
        nothing twice. A ``spark.jars.packages`` in spark-defaults.conf is replaced by the builder's, as always
        in Spark: repeat those in ``extra_packages``.

        Args:
            builder: A builder of a classic session.
            extra_packages: Further Maven coordinates for ``spark.jars.packages``.
            jars: Local jars to use instead of the published artifact: the connector's, and what it depends on
                (spark-sql-kafka-0-10, spark-token-provider-kafka-0-10, kafka-clients, commons-pool2).

        Returns:
            The same builder.

        Raises:
            DynamicKafkaError: if Spark is already running without the connector, PySpark is of a line that the
                connector is not published for, or the session would be a Spark Connect one.
            FileNotFoundError: for a jar that is not there.
        """
        return _configure(builder, extra_packages, jars)

    @staticmethod
    def builder(spark: SparkSession | None = None) -> DynamicKafkaReaderBuilder:
        """A builder of a read.

        Args:
            spark: The session. None: the one that is active when ``load()`` is called.
        """
        return DynamicKafkaReaderBuilder(spark)

    @staticmethod
    def writer(df: DataFrame) -> DynamicKafkaWriterBuilder:
        """A builder of a write.

        Args:
            df: What is written: a streaming DataFrame for ``start()``, a batch one for ``save()``. Of a classic
                session or a Connect one.

        Raises:
            TypeError: if it is no DataFrame of PySpark.
        """
        return DynamicKafkaWriterBuilder(df)
