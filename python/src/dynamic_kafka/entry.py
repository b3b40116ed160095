"""The entry point of the package."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dynamic_kafka import _jvm
from dynamic_kafka._configure import configure as _configure
from dynamic_kafka.reader import DynamicKafkaReaderBuilder
from dynamic_kafka.writer import DynamicKafkaWriterBuilder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class DynamicKafka:
    """Entry point of Dynamic Kafka for Spark.

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

        Values of ``spark.jars.packages`` and ``spark.jars`` that the builder already has are kept, and a second
        call adds nothing. In Spark, the builder's ``spark.jars.packages`` replaces the one of
        spark-defaults.conf: repeat its packages in ``extra_packages``.

        Args:
            builder: A builder of a classic session.
            extra_packages: Further Maven coordinates for ``spark.jars.packages``: an iterable, or text with
                commas.
            jars: Local jars to use instead of the published artifact: the connector's jar and the jars it depends
                on (spark-sql-kafka-0-10, spark-token-provider-kafka-0-10, kafka-clients, commons-pool2).

        Returns:
            The same builder.

        Raises:
            DynamicKafkaError: if Spark is already running without the connector, if PySpark is not installed or
                its version is not supported, if the builder is for a Spark Connect session, or if a local
                repository of Maven or Ivy has a POM without its jar.
            FileNotFoundError: if a jar does not exist.
            ValueError: if ``jars`` is empty.
        """
        return _configure(builder, extra_packages, jars)

    @staticmethod
    def builder(spark: SparkSession | None = None) -> DynamicKafkaReaderBuilder:
        """Returns a builder of a read.

        Args:
            spark: The session, classic or Spark Connect. None: the active, else the default one, at ``load()``.
        """
        return DynamicKafkaReaderBuilder(spark)

    @staticmethod
    def writer(df: DataFrame) -> DynamicKafkaWriterBuilder:
        """Returns a builder of a write.

        Args:
            df: The DataFrame to write, of a classic or a Spark Connect session: a streaming DataFrame for
                ``start()``, a batch DataFrame for ``save()``.

        Raises:
            TypeError: if ``df`` is not a DataFrame of PySpark.
        """
        return DynamicKafkaWriterBuilder(df)

    @staticmethod
    def ui_address(spark: SparkSession | None = None) -> str | None:
        """Returns the address of the page of the driver, if a query with the option ``ui=true`` has opened it.

        The first trigger of the query opens the page, a moment after ``start()``. Before, the result is None.

        Args:
            spark: A classic session; without it, the active or default one.

        Raises:
            DynamicKafkaError: if the session is one of Spark Connect, whose driver is another process.
        """
        api = _jvm.api(_jvm.gateway(_jvm.session(spark), "DynamicKafka.ui_address"))
        address = api.uiAddress()
        return None if address is None else str(address)

    @staticmethod
    def stop(query: StreamingQuery) -> None:
        """Stops a query. In real-time mode its batch ends first, so that the next start repeats nothing.

        Args:
            query: A query of a classic session. A query of Spark Connect is stopped as ``query.stop()`` does.
        """
        started = getattr(query, "_jsq", None)
        if started is None:
            query.stop()
        else:
            spark = _jvm.session(None)
            _jvm.api(_jvm.gateway(spark, "DynamicKafka.stop")).stop(started)
