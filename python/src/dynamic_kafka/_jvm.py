"""The one gate to the JVM: every call goes through it, and everything that can be missing has its own text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamic_kafka import _artifact, errors
from dynamic_kafka._version import JAR_VERSION, __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_API = "io.github.dynamickafka.python.PythonApi"


def is_connect(spark: object) -> bool:
    """True for a Spark Connect session. Asked by name: its module needs packages that may not be there."""
    return any(c.__module__.startswith("pyspark.sql.connect.") for c in type(spark).__mro__)


def is_dataframe(frame: object) -> bool:
    """True for a DataFrame of PySpark, classic or Connect. Asked by name, as a session is."""
    return any(c.__module__.startswith("pyspark.sql.") and c.__name__ == "DataFrame" for c in type(frame).__mro__)


def session(spark: SparkSession | None) -> SparkSession:
    """The given session, else the active one; classic or Connect, but not stopped.

    Raises:
        DynamicKafkaError: if there is none, or it has been stopped.
        TypeError: if it is something else.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise errors.pyspark_missing() from None
    if spark is None:
        spark = SparkSession.getActiveSession()
        if spark is None:
            raise errors.no_session()
    if is_connect(spark):
        return spark
    if not isinstance(spark, SparkSession):
        raise TypeError(f"DynamicKafka.builder takes a SparkSession, not {type(spark).__name__}")
    if spark.sparkContext._jsc is None:
        raise errors.session_stopped()
    return spark


def gateway(spark: SparkSession, what: str) -> Any:
    """The py4j gateway of a classic session.

    Args:
        spark: A session.
        what: What needs it, for the error over Connect.
    """
    if is_connect(spark):
        raise errors.connect_unsupported(what)
    return spark.sparkContext._gateway


def api(gateway: Any) -> Any:
    """The connector's PythonApi.

    Raises:
        DynamicKafkaError: if the jar is missing, is of another version, or the JVM does not answer.
    """
    found = load(gateway)
    if found is None:
        raise errors.jar_missing(_artifact.coordinate(_artifact.spark_line()))
    jar = str(found.version())
    if jar != JAR_VERSION:
        raise errors.version_mismatch(__version__, JAR_VERSION, jar)
    return found


def load(gateway: Any) -> Any | None:
    """PythonApi as the JVM has it, or None if it has not.

    Through the context class loader, which knows the jars of ``--packages``. It is a Scala object, so the class
    with the ``$`` holds the one instance.

    Raises:
        DynamicKafkaError: if the JVM does not answer.
    """
    from py4j.protocol import Py4JError, Py4JJavaError

    try:
        loader = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        return loader.loadClass(f"{_API}$").getField("MODULE$").get(None)
    except Py4JJavaError as e:
        if e.java_exception.getClass().getName() == "java.lang.ClassNotFoundException":
            return None
        raise
    except (Py4JError, OSError) as e:
        raise errors.gateway_dead(type(e).__name__) from e
