"""Where the connector's jar is, for commands that run it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dynamic_kafka import _artifact
from dynamic_kafka._tools.operator.error import OperatorError

VARIABLE = "DYNAMIC_KAFKA_JARS"

NEEDED = (
    "the connector's jar, spark-sql-kafka-0-10, spark-token-provider-kafka-0-10, kafka-clients and commons-pool2"
)


def spark_home() -> Path:
    """The folder of Spark: that of the installed PySpark, unless ``SPARK_HOME`` is set.

    Raises:
        DynamicKafkaError: if PySpark is not installed, or the connector does not support its version.
        OperatorError: if the folder has no ``spark-submit``.
    """
    _artifact.spark_line()
    import pyspark

    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    if not (home / "bin" / "spark-submit").is_file():
        raise OperatorError(
            f"{home} has no bin/spark-submit. Install PySpark, or set SPARK_HOME to Spark's folder"
        )
    return home


def require_java() -> None:
    """Fails if there is no Java.

    Raises:
        OperatorError: with what to install or set.
    """
    home = os.environ.get("JAVA_HOME")
    if home and not any((Path(home) / "bin" / name).is_file() for name in ("java", "java.exe")):
        raise OperatorError(
            f"JAVA_HOME is {home}, which has no bin/java. The command needs Java 17, as Spark does"
        )
    if not home and shutil.which("java") is None:
        raise OperatorError(
            "Java was not found. The command runs the connector's jar, and needs Java 17, as Spark does: install "
            "it, and set JAVA_HOME or PATH"
        )


def submit_arguments(home: Path, given: str | None) -> list[str]:
    """The arguments of ``spark-submit`` for the jars and the primary resource.

    Args:
        home: The folder of Spark.
        given: Jars, or folders with jars, separated by commas. None: those of the environment, of Spark's folder,
            of a build of the repository that contains this package, or else the coordinate that
            ``DynamicKafka.configure`` uses.

    Raises:
        OperatorError: if a given jar does not exist.
    """
    listed = given or os.environ.get(VARIABLE)
    jars = _expanded(listed) if listed else []
    if not jars and not listed and not any((home / "jars").glob("dynamic-kafka-spark-*.jar")):
        jars = _built()
        if not jars:
            return ["--packages", _artifact.coordinate(_artifact.spark_line()), "spark-internal"]
    if not jars:
        return ["spark-internal"]
    rest = ["--jars", ",".join(jars[1:])] if len(jars) > 1 else []
    return [*rest, jars[0]]


def _expanded(listed: str) -> list[str]:
    found: list[str] = []
    for name in filter(None, map(str.strip, listed.split(","))):
        path = Path(name)
        jars = sorted(path.glob("*.jar")) if path.is_dir() else [path]
        if not jars or not all(jar.is_file() for jar in jars):
            raise OperatorError(f"no such jar: {name}. The command needs {NEEDED}")
        found += [str(jar.absolute()) for jar in jars]
    return found


def _built() -> list[str]:
    """The jars of a build, if this package is that of a source tree."""
    package = Path(__file__).resolve().parents[2]
    root = package.parent.parent.parent
    if package != root / "python" / "src" / package.name or not (root / "version.sbt").is_file():
        return []
    target = root / "jvm" / "connector" / "target"
    line = _artifact.spark_line()
    folder = target / "jars" if line == _artifact.SUPPORTED_LINES[0] else target / f"line-{line}" / "jars"
    return [str(jar) for jar in sorted(folder.glob("*.jar"))]
