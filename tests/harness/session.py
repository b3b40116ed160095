"""A Spark session in the process of the tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dynamic_kafka import DynamicKafka
from pyspark.sql import SparkSession

from .jars import connector_jars


@contextmanager
def session(conf: Mapping[str, Any] | None = None) -> Iterator[SparkSession]:
    """A session with the connector of this build, and these settings."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", 1)
    for name, value in (conf or {}).items():
        builder = builder.config(name, value)
    session = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    try:
        yield session
    finally:
        session.stop()
