"""What goes wrong on the Python side, each condition with a text that says what to do.

Errors of the connector itself come from the JVM as PySpark exceptions with conditions ``DYNAMIC_KAFKA.*``;
the ones here have the same shape, so that one ``except PySparkException`` sees both. Wrong arguments are plain
``ValueError`` and ``TypeError``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.errors import PySparkRuntimeError
else:
    try:
        from pyspark.errors import PySparkRuntimeError
    except ImportError:  # The metadata model and the options work without PySpark.

        class PySparkRuntimeError(RuntimeError):
            """Stands in for PySpark's where there is no PySpark."""

            def __init__(self, message: str, errorClass: str, messageParameters: dict[str, str]) -> None:
                super().__init__(f"[{errorClass}] {message}")
                self._errorClass, self._messageParameters = errorClass, messageParameters

            def getCondition(self) -> str:
                """The named condition."""
                return self._errorClass

            def getMessageParameters(self) -> dict[str, str]:
                """The values in the text."""
                return self._messageParameters


class DynamicKafkaError(PySparkRuntimeError):
    """The connector cannot be used from this Python process as it is: ``getCondition()`` tells why.

    Both a ``PySparkException`` and a ``RuntimeError``.
    """


def _error(condition: str, message: str, **parameters: str) -> DynamicKafkaError:
    return DynamicKafkaError(
        message=message, errorClass=f"DYNAMIC_KAFKA.{condition}", messageParameters=parameters
    )


def pyspark_missing() -> DynamicKafkaError:
    """No PySpark in this Python."""
    return _error(
        "PYSPARK_MISSING",
        "PySpark is not installed in this Python. Install it with: pip install 'dynamic-kafka[spark]'",
    )


def unsupported_spark(version: str, lines: Iterable[str]) -> DynamicKafkaError:
    """PySpark of a line that the connector is not published for."""
    supported = ", ".join(lines)
    return _error(
        "UNSUPPORTED_SPARK",
        f"PySpark {version} is installed, and this version of dynamic-kafka supports Spark {supported}. "
        f"Install a supported PySpark: pip install 'dynamic-kafka[spark]'",
        version=version,
        supported=supported,
    )


def session_running(missing: Iterable[str]) -> DynamicKafkaError:
    """The JVM was started without the connector, and cannot take it any more."""
    names = ", ".join(missing)
    return _error(
        "SESSION_RUNNING",
        f"Spark is already running in this Python process, and it was started without: {names}. Spark takes "
        "'spark.jars.packages' and 'spark.jars' only when its JVM starts, and the JVM outlives spark.stop(). "
        "Restart Python (in a notebook: the kernel) and call DynamicKafka.configure(...) before the first "
        "session, or start Python through spark-submit or pyspark with --packages.",
        missing=names,
    )


def no_session() -> DynamicKafkaError:
    """No session at all."""
    return _error(
        "NO_SESSION",
        "There is no active Spark session. Create one first: "
        "spark = DynamicKafka.configure(SparkSession.builder).getOrCreate()",
    )


def session_stopped() -> DynamicKafkaError:
    """A session that was stopped."""
    return _error(
        "SESSION_STOPPED",
        "The Spark session given to DynamicKafka.builder(spark) has been stopped. Create a new session and a "
        "new builder over it.",
    )


def connect_unsupported(what: str) -> DynamicKafkaError:
    """Something that needs the JVM in this process."""
    return _error(
        "CONNECT_UNSUPPORTED",
        f"{what} needs a classic Spark session, and this one is a Spark Connect session, whose JVM is on the "
        "server. Over Connect, have the connector's jar on the server (its --packages, or "
        "spark.addArtifacts(...)) and use a metadata service that runs there, such as FileMetadataService or "
        "StaticMetadataService; the rest of the builder works as it is.",
        what=what,
    )


def jar_missing(coordinate: str) -> DynamicKafkaError:
    """A session without the connector's classes."""
    return _error(
        "JAR_MISSING",
        "The connector's jar is not in this Spark session. Start the session with "
        "DynamicKafka.configure(SparkSession.builder).getOrCreate(), or give the jar to spark-submit or "
        f"pyspark: --packages {coordinate}. If it was given so, mind that a --packages in "
        "PYSPARK_SUBMIT_ARGS replaces the packages of the session builder.",
        coordinate=coordinate,
    )


def version_mismatch(package: str, wanted: str, jar: str) -> DynamicKafkaError:
    """Jar and wheel of different versions."""
    return _error(
        "VERSION_MISMATCH",
        f"The Python package dynamic-kafka is of version {package} and needs the connector's jar of version "
        f"{wanted}; the jar in this Spark session is of version {jar}. Use the same version of both.",
        package=package,
        wanted=wanted,
        jar=jar,
    )


def gateway_dead(reason: str) -> DynamicKafkaError:
    """The JVM does not answer."""
    return _error(
        "GATEWAY_DEAD",
        f"The JVM of this Spark session does not answer any more ({reason}): its process has ended or the "
        "connection to it is lost. Restart Python and create a new session; the driver's log tells why it "
        "ended.",
        reason=reason,
    )
