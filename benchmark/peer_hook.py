"""The product as a reader of the peer benchmark, which imports this file by its path (PRODUCT_HOOK).

It runs in an environment that has pyspark and may have nothing else of ours, so there are plain options here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

_JARS = Path(__file__).resolve().parents[1] / "jvm" / "connector" / "target" / "jars"


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Add the connector's own jar: the session brings Spark's Kafka source and its clients as packages."""
    (jar,) = _JARS.glob("dynamic-kafka-spark-*.jar")
    return builder.config("spark.jars", str(jar))


def read_stream(spark: SparkSession, metadata: str, stream: str, properties: Mapping[str, str]) -> DataFrame:
    """All records of the stream, from the earliest offsets."""
    return (
        spark.readStream.format("dynamic-kafka")
        .option("metadataService", "file")
        .option("metadataService.path", metadata)
        .option("streamIds", stream)
        .option("startingOffsets", "earliest")
        .options(**{f"kafka.{name}": value for name, value in properties.items()})
        .load()
    )
