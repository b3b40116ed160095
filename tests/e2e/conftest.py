"""What all end-to-end tests share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The testkit is no package that anybody installs.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jvm" / "testkit" / "python"))

from dynamic_kafka_testkit import Testkit


@pytest.fixture(scope="session")
def testkit() -> Iterator[Testkit]:
    """Clusters for the whole run; tests that break theirs start their own."""
    with Testkit() as testkit:
        yield testkit
