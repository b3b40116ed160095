"""The jars of the build."""

from __future__ import annotations

import os
from pathlib import Path

from dynamic_kafka import _artifact

REPOSITORY = Path(__file__).resolve().parents[2]
_TARGET = REPOSITORY / "jvm" / "connector" / "target"
_TESTKIT_CLASSPATH = REPOSITORY / "jvm" / "testkit" / "target" / "testkit.classpath"
_DEFAULT_LINE = _artifact.SUPPORTED_LINES[0]


def connector_jars() -> list[Path]:
    """The connector for the installed PySpark's line, and its dependencies beside Spark.

    Raises:
        FileNotFoundError: if they have not been built.
    """
    line = _artifact.spark_line()
    folder = (_TARGET if line == _DEFAULT_LINE else _TARGET / f"line-{line}") / "jars"
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        raise FileNotFoundError(
            f"no jar in {folder}: run 'make jars', or for another line './sbt -DsparkLine={line} connector/localJars'"
        )
    return jars


def testkit_jar() -> Path:
    """The testkit's own classes, without their dependencies.

    Raises:
        FileNotFoundError: if they have not been built.
    """
    return Path(_TESTKIT_CLASSPATH.read_text().split(os.pathsep)[0])
