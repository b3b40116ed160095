"""The artifact of the connector for the installed PySpark."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

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
    folder = pyspark_folder()
    pyspark = sys.modules.get("pyspark") or _version_module(folder)
    minor = ".".join(pyspark.__version__.split(".")[:2])
    line = _LINE_FOR.get(minor, minor)
    if line not in SUPPORTED_LINES:
        from dynamic_kafka import errors

        raise errors.unsupported_spark(pyspark.__version__, sorted([*SUPPORTED_LINES, *_LINE_FOR]))
    return line


def pyspark_folder() -> Path:
    """Returns the folder of the installed PySpark, which is not imported: that takes longer than a command.

    Raises:
        DynamicKafkaError: if PySpark is not installed.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        from dynamic_kafka import errors

        raise errors.pyspark_missing()
    return Path(found.origin).parent


def _version_module(folder: Path) -> ModuleType:
    """The module of PySpark with its version, also out of the archive that spark-submit puts on the path."""
    spec = importlib.machinery.PathFinder.find_spec("version", [str(folder)])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coordinate(line: str) -> str:
    """Returns the Maven coordinate of the connector in the version of this package.

    Args:
        line: A result of :func:`spark_line`.
    """
    return f"{_GROUP}:dynamic-kafka-spark-{line}_{_SCALA}:{JAR_VERSION}"
