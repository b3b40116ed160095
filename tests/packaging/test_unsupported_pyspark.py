"""A PySpark that the connector does not support, in an environment of its own."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from .home import ROOT, run

SCRIPT = """
from dynamic_kafka import DynamicKafka, DynamicKafkaError, FileMetadataService
from pyspark.sql import SparkSession

def refused(attempt):
    try:
        attempt()
    except DynamicKafkaError as e:
        print(e.getCondition(), e)

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
refused(lambda: DynamicKafka.configure(builder))
session = builder.getOrCreate()
service = FileMetadataService("streams.yaml")
for spark in (session, None):
    read = DynamicKafka.builder(spark).set_kafka_metadata_service(service).set_stream_ids("orders")
    refused(read.load)
    refused(read.load_batch)
write = DynamicKafka.writer(session.range(1)).set_kafka_metadata_service(service).set_stream_id("orders")
refused(write.save)
refused(lambda: DynamicKafka.ui_address(session))
"""
CONFIGURED = """
from dynamic_kafka import DynamicKafka
from pyspark.sql import SparkSession
print(DynamicKafka.configure(SparkSession.builder)._options["spark.jars.packages"])
"""


@pytest.mark.test_all
@pytest.mark.timeout(1200)
def test_pyspark_3_5(tmp_path: Path) -> None:
    """Each entry names the condition, and the command of the error installs a PySpark that is accepted."""
    run([sys.executable, "-m", "venv", "venv"], tmp_path, os.environ)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))
    }
    environment |= {
        "PATH": f"{tmp_path}/venv/bin:{environment['PATH']}",
        "PYTHONPATH": str(ROOT / "python" / "src"),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    run(["pip", "install", "--quiet", "pyspark==3.5.*"], tmp_path, environment)
    python = str(tmp_path / "venv" / "bin" / "python")
    errors = run([python, "-c", SCRIPT], tmp_path, environment).splitlines()
    assert len(errors) == 7
    shown = r"DYNAMIC_KAFKA\.UNSUPPORTED_SPARK \[DYNAMIC_KAFKA\.UNSUPPORTED_SPARK\] PySpark 3\.5\.\d+ is installed"
    assert [error for error in errors if not re.match(shown, error)] == []
    run(shlex.split(errors[0].partition("PySpark: ")[2]), tmp_path, environment)
    assert "dynamic-kafka-spark-4.2_2.13" in run([python, "-c", CONFIGURED], tmp_path, environment)
