"""A batch and a streaming read with the PySpark of this Python, and the jars of its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dynamic_kafka import DynamicKafka, _artifact, _jvm
from pyspark.sql import SparkSession

from tests.harness.jars import connector_jars
from tests.harness.orders import Orders
from tests.packaging import job


@pytest.mark.test_all
def test_batch_and_stream(orders: Orders) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", 1)
    spark = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    try:
        gateway = _jvm.gateway(spark, "this test")
        assert _jvm.api(gateway).sparkLine() == _artifact.spark_line()
        for report in (job.by_builder, job.by_options):
            seen: dict[str, Any] = json.loads(report(spark, str(orders.streams)))
            assert seen["batch"] == orders.expected
            assert seen["stream"] == orders.expected
    finally:
        spark.stop()
