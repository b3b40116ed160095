"""All calls into the JVM. Each missing prerequisite has an error of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dynamic_kafka import _artifact, errors
from dynamic_kafka._version import JAR_VERSION, __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_API = "io.github.dynamickafka.PythonApi"
_BUILD = "io.github.dynamickafka.build.BuildInfo"


def is_connect(spark: object) -> bool:
    """Returns whether a session is a Spark Connect one, by name: its module needs packages that may be missing."""
    return any(c.__module__.startswith("pyspark.sql.connect.") for c in type(spark).__mro__)


def is_dataframe(frame: object) -> bool:
    """Returns whether this is a DataFrame of PySpark, classic or Spark Connect, by the name of its class."""
    return any(c.__module__.startswith("pyspark.sql.") and c.__name__ == "DataFrame" for c in type(frame).__mro__)


def session(spark: SparkSession | None) -> SparkSession:
    """Returns the given session, else the active one of the thread, else the default one.

    It is a classic one, or one of Spark Connect.

    Raises:
        DynamicKafkaError: if there is no session, the session has been stopped, or PySpark is missing or not a
            supported one.
        TypeError: if ``spark`` is of another type.
    """
    if spark is None or not is_connect(spark):
        _artifact.spark_line()
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    if spark is None:
        try:
            spark = SparkSession.active()
        except PySparkRuntimeError:
            raise errors.no_session() from None
    if is_connect(spark):
        return spark
    if not isinstance(spark, SparkSession):
        raise TypeError(f"DynamicKafka.builder takes a SparkSession, not {type(spark).__name__}")
    if spark.sparkContext._jsc is None:
        raise errors.session_stopped()
    return spark


def gateway(spark: SparkSession, what: str) -> Any:
    """Returns the py4j gateway of a classic session.

    Args:
        spark: A session.
        what: The feature that needs the gateway, for the error with Spark Connect.

    Raises:
        DynamicKafkaError: if the session is a Spark Connect one.
    """
    if is_connect(spark):
        raise errors.connect_unsupported(what)
    return spark.sparkContext._gateway


def api(gateway: Any) -> Any:
    """Returns the connector's PythonApi.

    Raises:
        DynamicKafkaError: if the jar is missing, has another version or is for another Spark, or the JVM is
            unreachable.
    """
    found = load(gateway)
    if found is None:
        raise errors.jar_missing(_artifact.coordinate(_artifact.spark_line()))
    jar = str(found.version())
    if jar != JAR_VERSION:
        raise errors.version_mismatch(__version__, JAR_VERSION, jar)
    line, wanted = jar_line(gateway), _artifact.spark_line()
    if line is not None and line != wanted:
        # Such a jar is loaded, and fails in the middle of a query because a class of Spark is missing.
        ours, theirs = (f"{JAR_VERSION} for Spark {minor}" for minor in (wanted, line))
        raise errors.version_mismatch(__version__, ours, theirs)
    return found


def running() -> Any | None:
    """Returns PythonApi if a JVM of this process has it. Why `api` refuses it is said when a session is used."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    gateway = getattr(context, "_gateway", None)
    try:
        return None if gateway is None else api(gateway)
    except errors.DynamicKafkaError:
        return None


def load(gateway: Any) -> Any | None:
    """Returns PythonApi, or None if the JVM does not have the connector's jar.

    Raises:
        DynamicKafkaError: if the JVM is unreachable.
    """
    return _scala_object(gateway, _API)


def jar_line(gateway: Any) -> str | None:
    """Returns the minor version of Spark that the connector's jar is for, or None if there is no jar."""
    build = _scala_object(gateway, _BUILD)
    return None if build is None else str(build.sparkLine())


def _scala_object(gateway: Any, name: str) -> Any | None:
    """Returns a Scala object, or None if the JVM does not have its class.

    The context class loader finds the jars of ``--packages``. The instance of a Scala object is a field of the
    class with ``$`` at the end of its name.

    Raises:
        DynamicKafkaError: if the JVM is unreachable.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        return loader.loadClass(f"{name}$").getField("MODULE$").get(None)
    except Py4JJavaError as e:
        if e.java_exception.getClass().getName() == "java.lang.ClassNotFoundException":
            return None
        raise
    except (Py4JError, OSError) as e:
        raise errors.gateway_dead(type(e).__name__) from e
