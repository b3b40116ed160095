"""The Connect server of all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dynamic_kafka import _artifact

from tests.harness.connect_server import ConnectServer
from tests.harness.jars import connector_jars

# PySpark has the trigger of real-time mode since 4.2.
collect_ignore = ["test_connect_real_time.py"] if _artifact.spark_line() in ("4.0", "4.1") else []


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """Started once."""
    with ConnectServer(tmp_path_factory.mktemp("connect"), connector_jars()) as server:
        yield server
