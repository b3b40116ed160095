"""The artifact of the connector for the installed PySpark."""

from __future__ import annotations

from dynamic_kafka import errors
from dynamic_kafka._version import JAR_VERSION

SUPPORTED_LINES = ("4.2", "4.1", "4.0")
"""Minor versions of Spark with an artifact of the connector, as in project/SparkLines.scala, the default first."""

_LINE_FOR = {"4.3": "4.2"}
"""Minor versions of Spark without an artifact of their own, and the version whose artifact works with them."""

_GROUP = "io.github.dynamickafka"
_SCALA = "2.13"


def spark_line() -> str:
    """Returns the Spark version of the artifact for the installed PySpark, such as ``4.0``.

    Raises:
        DynamicKafkaError: if PySpark is not installed, or the connector does not support its version.
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
    """Returns the Maven coordinate of the connector in the version of this package.

    Args:
        line: A result of :func:`spark_line`.
    """
    return f"{_GROUP}:dynamic-kafka-spark-{line}_{_SCALA}:{JAR_VERSION}"
