"""Errors of the Python package. Each has a condition and a text with the remedy.

The connector's own errors come from the JVM as PySpark exceptions with conditions ``DYNAMIC_KAFKA.*``. Errors of
the Python package have the same form, so that one ``except PySparkException`` catches both. Wrong arguments raise
``ValueError`` and ``TypeError``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.errors import PySparkRuntimeError
else:
    try:
        from pyspark.errors import PySparkRuntimeError
    except ImportError:  # The metadata model and the options work without PySpark.
        PySparkRuntimeError = RuntimeError


# What the extra "spark" of pyproject.toml installs.
_INSTALL = "pip install 'pyspark>=4.2,<4.3'"


class DynamicKafkaError(PySparkRuntimeError):
    """The connector cannot be used in this Python process; ``getCondition()`` is the cause.

    It is a ``PySparkException`` and a ``RuntimeError``.
    """

    # PySpark 3.5 names these arguments differently, and accepts no message beside them. The error about a PySpark
    # that is not supported has to be made with any PySpark.
    def __init__(self, condition: str, message: str, parameters: dict[str, str]) -> None:
        super().__init__(message)
        self._condition, self._text, self._parameters = condition, message, parameters

    def __str__(self) -> str:
        """Returns the condition and the text, as other errors of PySpark do."""
        return f"[{self._condition}] {self._text}"

    def getCondition(self) -> str:
        """Returns the name of the condition."""
        return self._condition

    def getMessageParameters(self) -> dict[str, str]:
        """Returns the values in the text, by name."""
        return self._parameters


class DynamicKafkaValueError(DynamicKafkaError, ValueError):
    """A builder refuses a value; ``getCondition()`` is that of the connector's own errors."""


REDACTED = "(redacted)"


def invalid_option(option: str, value: str, reason: str) -> DynamicKafkaValueError:
    """A value is invalid, as in the connector's INVALID_OPTION. Needs no session.

    Args:
        option: The name of the option.
        value: The value, or ``REDACTED`` if it may be a secret.
        reason: The rule, and what to do.
    """
    text = f"Invalid value '{value}' for option '{option}': {reason}"
    parameters = {"option": option, "value": value, "reason": reason}
    return DynamicKafkaValueError("DYNAMIC_KAFKA.INVALID_OPTION", text, parameters)


def _error(condition: str, message: str, **parameters: str) -> DynamicKafkaError:
    return DynamicKafkaError(f"DYNAMIC_KAFKA.{condition}", message, parameters)


def pyspark_missing() -> DynamicKafkaError:
    """PySpark is not installed."""
    return _error(
        "PYSPARK_MISSING",
        f"PySpark is not installed in this Python. Install it with: {_INSTALL}",
    )


def unsupported_spark(version: str, lines: Iterable[str]) -> DynamicKafkaError:
    """The connector is not published for this version of PySpark."""
    supported = ", ".join(lines)
    return _error(
        "UNSUPPORTED_SPARK",
        f"PySpark {version} is installed, but this version of dynamic-kafka supports Spark {supported}. "
        f"Install a supported PySpark: {_INSTALL}",
        version=version,
        supported=supported,
    )


def session_running(missing: Iterable[str]) -> DynamicKafkaError:
    """The JVM is already running without the connector."""
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
    """There is no active session."""
    return _error(
        "NO_SESSION",
        "There is no active Spark session. Create one first: "
        "spark = DynamicKafka.configure(SparkSession.builder).getOrCreate()",
    )


def session_stopped() -> DynamicKafkaError:
    """The session has been stopped."""
    return _error(
        "SESSION_STOPPED",
        "The Spark session given to DynamicKafka.builder(spark) has been stopped. Create a new session and a "
        "new builder for it.",
    )


def connect_unsupported(what: str) -> DynamicKafkaError:
    """Spark Connect does not support this, because it needs the JVM."""
    return _error(
        "CONNECT_UNSUPPORTED",
        f"{what} needs a classic Spark session, and this one is a Spark Connect session, whose JVM is on the "
        "server. With Connect, install the connector's jar on the server (with --packages of the server) "
        "and use a metadata service that runs there, such as FileMetadataService or StaticMetadataService. The "
        "rest of the builder works without changes.",
        what=what,
    )


PUBLISH = "./sbt connector/publishM2 in the root of the connector's repository"
"""What puts the connector where Spark finds it, until it is released."""


def jar_missing(coordinate: str) -> DynamicKafkaError:
    """The session does not have the connector's jar."""
    first = f", after {PUBLISH}" if coordinate.endswith("-SNAPSHOT") else ""
    return _error(
        "JAR_MISSING",
        "The connector's jar is not in this Spark session. Start the session with "
        "DynamicKafka.configure(SparkSession.builder).getOrCreate(), or pass the jar to spark-submit or "
        f"pyspark: --packages {coordinate}{first}. Note that --packages in PYSPARK_SUBMIT_ARGS replaces the "
        "packages of the session builder.",
        coordinate=coordinate,
    )


def repository_incomplete(
    module: str, jar: Path, folders: Iterable[Path], is_connector: bool
) -> DynamicKafkaError:
    """Spark would find the POM of a module, and not its jar."""
    found = " and ".join(map(str, folders))
    remedy = (
        f"Publish the connector again: {PUBLISH}"
        if is_connector
        else f"Delete {found}: Spark downloads the module again"
    )
    return _error(
        "REPOSITORY_INCOMPLETE",
        f"The jar {jar} is missing. The POM of {module} is in {found}, and Spark looks for the jar nowhere else, "
        f"so that its JVM would end. {remedy}.",
        module=module,
        jar=str(jar),
        folders=found,
    )


def version_mismatch(package: str, wanted: str, jar: str) -> DynamicKafkaError:
    """The jar and the Python package have different versions."""
    return _error(
        "VERSION_MISMATCH",
        f"The Python package dynamic-kafka has version {package} and needs version {wanted} of the connector's "
        f"jar; the jar in this Spark session has version {jar}. Use the same version of both.",
        package=package,
        wanted=wanted,
        jar=jar,
    )


def gateway_dead(reason: str) -> DynamicKafkaError:
    """The JVM is unreachable."""
    return _error(
        "GATEWAY_DEAD",
        f"The JVM of this Spark session is unreachable ({reason}): its process has ended or the connection to it "
        "is lost. Restart Python and create a new session; the driver's log has the cause.",
        reason=reason,
    )
