from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder

# No JVM of a test runs long enough to benefit from the optimizing compiler.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def builder() -> DynamicKafkaReaderBuilder:
    return DynamicKafka.builder()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session without the connector's jar."""
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def run_python() -> Callable[[str], str]:
    """Runs code in a separate Python process, because a JVM keeps running until its process ends."""

    def run(code: str) -> str:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
