"""Which artifact of the connector belongs to which PySpark."""

from __future__ import annotations

from dynamic_kafka import errors
from dynamic_kafka._version import JAR_VERSION

SUPPORTED_LINES = ("4.2", "4.1", "4.0")
"""Spark minors that the connector is published for, the default of the build first: project/SparkLines.scala."""

_LINE_FOR = {"4.3": "4.2"}
"""Spark minors without an artifact of their own, and the line whose jars they run with: what tests have shown."""

_GROUP = "io.github.dynamickafka"
_SCALA = "2.13"


def spark_line() -> str:
    """The line of the artifact for the installed PySpark.

    Raises:
        DynamicKafkaError: if there is no PySpark, or the connector is not published for it.
    """
    try:
        import pyspark
    except ImportError:
        raise errors.pyspark_missing() from None
    minor = ".".join(pyspark.__version__.split(".")[:2])
    line = _LINE_FOR.get(minor, minor)
    if line not in SUPPORTED_LINES:
        raise errors.unsupported_spark(pyspark.__version__, sorted([*SUPPORTED_LINES, *_LINE_FOR]))
    return line


def coordinate(line: str) -> str:
    """What ``--packages`` takes for this Spark line, of the same version as this package."""
    return f"{_GROUP}:dynamic-kafka-spark-{line}_{_SCALA}:{JAR_VERSION}"
