"""The class data archive of Spark (JEP 310), with which a driver starts in two thirds of the CPU time.

    python -m tests.class_data

It writes the archive unless it exists. A JVM that cannot use the archive starts without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

_FOLDER = Path(__file__).resolve().parents[1] / "target" / "class-data"

# What most drivers of the tests load.
_PROGRAM = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rates = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
writer = rates.selectExpr("value + 1 AS n").writeStream.foreachBatch(lambda frame, _: print(frame.count()))
writer.trigger(availableNow=True).start().awaitTermination()
# The JVM writes the archive when it exits, which is when its input ends.
jvm = spark.sparkContext._gateway.proc
spark.stop()
jvm.stdin.close()
jvm.wait()
"""


def archive() -> Path:
    """Return where the archive of the installed PySpark is, if it exists."""
    return _FOLDER / f"spark-{pyspark.__version__}.jsa"


# No JVM of the tests runs long enough to benefit from the optimizing compiler, or from a collector beside its work.
_SHORT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Queries of tests read few records: compiling their plans takes longer than running them. By default, an idle query
# looks for records a hundred times a second.
_QUERIES = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.streaming.pollingDelay": "100ms",
}


def java_options() -> str:
    """Return the options of the JVMs of the tests. `make test-all` leaves Spark's settings as they are."""
    options = _SHORT
    if os.environ.get("TESTS") != "all":
        options += "".join(f" -D{name}={value}" for name, value in _QUERIES.items())
    if archive().exists():
        # The JVM would print to stdout that it cannot use the archive.
        options += f" -XX:SharedArchiveFile={archive()} -Xlog:cds*=off"
    return options


def main() -> None:
    """Write the archive unless it exists."""
    if archive().exists():
        return
    _FOLDER.mkdir(parents=True, exist_ok=True)
    written = archive().with_suffix(".new")
    options = f"{_SHORT} -XX:ArchiveClassesAtExit={written} -Xlog:cds*=off"
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=os.environ | {"JDK_JAVA_OPTIONS": options},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0 or not written.exists():
        print(f"Spark starts without a class data archive:\n{done.stdout}")
    else:
        written.replace(archive())


if __name__ == "__main__":
    main()
