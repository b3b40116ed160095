"""A batch and a streaming read with the PySpark of this Python, and the jars of its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dynamic_kafka import _artifact, _jvm

from tests.harness.orders import Orders
from tests.harness.session import session
from tests.packaging import job


@pytest.mark.test_all
def test_batch_and_stream(orders: Orders) -> None:
    with session() as spark:
        gateway = _jvm.gateway(spark, "this test")
        assert _jvm.api(gateway).sparkLine() == _artifact.spark_line()
        for report in (job.by_builder, job.by_options):
            seen: dict[str, Any] = json.loads(report(spark, str(orders.streams)))
            assert seen["batch"] == orders.expected
            assert seen["stream"] == orders.expected
