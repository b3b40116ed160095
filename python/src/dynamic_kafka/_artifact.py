"""Which artifact of the connector belongs to which PySpark."""

from __future__ import annotations

from dynamic_kafka import errors
from dynamic_kafka._version import JAR_VERSION

SUPPORTED_LINES = ("4.0",)
"""Spark minors that the connector is published for: project/SparkLines.scala."""

_GROUP = "io.github.dynamickafka"
_SCALA = "2.13"


def spark_line() -> str:
    """The minor of the installed PySpark, if the connector is published for it."""
    try:
        import pyspark
    except ImportError:
        raise errors.pyspark_missing() from None
    line = ".".join(pyspark.__version__.split(".")[:2])
    if line not in SUPPORTED_LINES:
        raise errors.unsupported_spark(pyspark.__version__, SUPPORTED_LINES)
    return line


def coordinate(line: str) -> str:
    """What ``--packages`` takes for this Spark line, of the same version as this package."""
    return f"{_GROUP}:dynamic-kafka-spark-{line}_{_SCALA}:{JAR_VERSION}"
