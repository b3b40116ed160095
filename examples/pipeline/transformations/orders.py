"""Reads a stream of JSON into a table, and writes the rows of the table to another stream."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()
metadata = {"metadataService": "file", "metadataService.path": spark.conf.get("streams") or ""}


@dp.table
def orders() -> DataFrame:
    """The orders on all clusters."""
    source = spark.readStream.format("dynamic-kafka").options(**metadata).option("streamIds", "orders")
    return source.option("format", "json").option("schema", "id BIGINT, customer STRING").load()


dp.create_sink(
    "copies", "dynamic-kafka", metadata | {"streamId": "copies", "format": "json", "keyFormat": "string"}
)


@dp.append_flow(target="copies")
def copy() -> DataFrame:
    """The customer is the key of the record."""
    return spark.readStream.table("orders").selectExpr("customer AS key", "id", "cluster AS origin")
