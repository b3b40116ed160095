"""The connector's jar for another Spark, in a session without the Python package of the connector."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from dynamic_kafka import _artifact

from tests.harness.jars import connector_jars

_SCRIPT = """
import sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
spark = builder.config("spark.driver.host", "localhost").config("spark.jars", sys.argv[1]).getOrCreate()
rows = spark.range(1).selectExpr("string(id) as value")
for call in (
    lambda: spark.read.format("dynamic-kafka").load(),
    lambda: spark.readStream.format("dynamic-kafka").load(),
    lambda: rows.write.format("dynamic-kafka").mode("append").save(),
    lambda: spark.sql("SHOW TABLES IN streams").show(),
):
    try:
        call()
    except Exception as error:
        print(str(error).splitlines()[0])
print(rows.count())
spark.stop()
"""
_BUILD_INFO = "io/github/dynamickafka/build/BuildInfo$.class"


@pytest.mark.test_all
def test_a_jar_for_another_spark(tmp_path: Path) -> None:
    jars = [_for_another_spark(jar, tmp_path) for jar in connector_jars()]
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    conf = "--conf spark.sql.catalog.streams=io.github.dynamickafka.DynamicKafkaCatalog pyspark-shell"
    run = subprocess.run(
        [sys.executable, str(script), ",".join(map(str, jars))],
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": conf},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    *refusals, count = run.stdout.splitlines()
    # The rest of the session works.
    assert count == "1"
    assert len(refusals) == 4, run.stdout
    for text in refusals:
        assert "[DYNAMIC_KAFKA.WRONG_JAR]" in text
        assert "The jar of the connector is for Spark 3.9 with Scala 2.13, but the session has Spark 4." in text


def _for_another_spark(jar: Path, folder: Path) -> Path:
    """A copy of the jar that says that it is for Spark 3.9; any other jar as it is."""
    with zipfile.ZipFile(jar) as source:
        if _BUILD_INFO not in source.namelist():
            return jar
        copy = folder / jar.name
        with zipfile.ZipFile(copy, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if name == _BUILD_INFO:
                    # A constant of a class has its length in front.
                    line = _artifact.spark_line().encode()
                    assert content.count(b"\0\x03" + line) == 1
                    content = content.replace(b"\0\x03" + line, b"\0\x033.9")
                target.writestr(name, content)
    return copy
