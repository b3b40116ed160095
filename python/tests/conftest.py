from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder

REPOSITORY = Path(__file__).resolve().parents[2]


def _java_options() -> str:
    """The options of tests/class_data.py, which makes the archive: `make` runs it before these tests."""
    options = "-XX:TieredStopAtLevel=1"
    archive = REPOSITORY / "target" / "class-data" / f"spark-{pyspark.__version__}.jsa"
    return f"{options} -XX:SharedArchiveFile={archive} -Xlog:cds*=off" if archive.exists() else options


os.environ.setdefault("JDK_JAVA_OPTIONS", _java_options())


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
