"""The Connect server of all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.connect_server import ConnectServer
from tests.harness.jars import connector_jars


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """Started once."""
    with ConnectServer(tmp_path_factory.mktemp("connect"), connector_jars()) as server:
        yield server
