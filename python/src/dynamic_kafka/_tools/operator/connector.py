"""Runs the connector's jar for a command."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dynamic_kafka import _artifact
from dynamic_kafka._tools.operator import jars
from dynamic_kafka._tools.operator.error import OperatorError

_MAIN = "io.github.dynamickafka.sink.operate.OperatorTool"
_NOT_FOUND = ("Failed to load class", "unresolved dependency", "ClassNotFoundException", "UNRESOLVED DEPENDENCIES")
_CONNECT = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE")
_LINES = 5


@dataclass(frozen=True)
class Reply:
    """What the connector replies.

    Attributes:
        exit_code: The exit code of the command.
        result: The result; None if there is none.
        reasons: Why the command is refused, or why something is not known.
    """

    exit_code: int
    result: dict[str, Any] | None = None
    reasons: list[str] = field(default_factory=list)


def ask(arguments: Sequence[str], given_jars: str | None) -> Reply:
    """Runs the connector's tool in a Java process, through ``spark-submit``, without a Spark session.

    Args:
        arguments: The arguments of the tool.
        given_jars: See :func:`jars.submit_arguments`.

    Raises:
        OperatorError: if something that it needs is missing.
        DynamicKafkaError: if PySpark is not installed, or the connector does not support its version.
    """
    jars.require_java()
    home = jars.spark_home()
    command = [str(home / "bin" / "spark-submit"), "--master", "local[1]", "--deploy-mode", "client"]
    command += ["--class", _MAIN, *jars.submit_arguments(home, given_jars), *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in _CONNECT}
    done = subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise OperatorError(_failure(done.stderr))
    reply = json.loads(lines[-1])
    return Reply(reply["exit"], reply.get("result"), reply["reasons"])


def _failure(stderr: str) -> str:
    if any(text in stderr for text in _NOT_FOUND):
        coordinate = _artifact.coordinate(_artifact.spark_line())
        return (
            "The connector's jar was not found, or is of another version. Pass it with --jars or "
            f"{jars.VARIABLE}: {jars.NEEDED}; or publish {coordinate} where spark-submit "
            "finds it, as DynamicKafka.configure does"
        )
    said = [line.strip() for line in stderr.splitlines() if line.strip()][-_LINES:]
    return f"The Java process failed: {' / '.join(said)}"
