"""Makes the connector a reader of the peer benchmark, which imports this file by its path (PRODUCT_HOOK).

The environment has PySpark, but not necessarily the Python package of the connector, so plain options are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

_JARS = Path(__file__).resolve().parents[1] / "jvm" / "connector" / "target" / "jars"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add the connector's own jar: the session brings Spark's Kafka source and its clients as packages."""
    (jar,) = _JARS.glob("dynamic-kafka-spark-*.jar")
    return builder.config("spark.jars", str(jar))


def read_stream(spark: SparkSession, metadata: str, stream: str, properties: Mapping[str, str]) -> DataFrame:
    """Read all records of the stream, from the earliest offsets."""
    return _reader(spark, metadata, stream, properties).load()


def read_json(
    spark: SparkSession, metadata: str, stream: str, properties: Mapping[str, str], columns: str
) -> DataFrame:
    """Read all records of the stream, whose values are JSON, as these columns (DDL)."""
    reader = _reader(spark, metadata, stream, properties)
    return reader.option("format", "json").option("schema", columns).load()


def _reader(spark: SparkSession, metadata: str, stream: str, properties: Mapping[str, str]) -> DataStreamReader:
    return (
        spark.readStream.format("dynamic-kafka")
        .option("metadataService", "file")
        .option("metadataService.path", metadata)
        .option("streamIds", stream)
        .option("startingOffsets", "earliest")
        .options(**{f"kafka.{name}": value for name, value in properties.items()})
    )
