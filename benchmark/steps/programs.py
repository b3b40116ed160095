"""Runs the programs of jvm/benchmark, each in a JVM of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyspark

from benchmark.paths import connector_jars, program_jars

PACKAGE = "io.github.dynamickafka"
_SPARK = Path(pyspark.__file__).parent


def run_program(name: str, *arguments: object) -> list[dict[str, Any]]:
    """Run a program and return the lines of JSON that it prints."""
    return run_command([*_java(name), *map(str, arguments)])


def run_driver(name: str, master: str, *arguments: object) -> list[dict[str, Any]]:
    """Run a program that is a driver and return the lines of JSON that it prints."""
    return run_command([*_submit(name, master), *map(str, arguments)])


class Conversation:
    """A program that responds to each line of JSON with one, until it is closed."""

    def __init__(self, name: str, command: list[str]) -> None:
        self._name = name
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    @staticmethod
    def of(name: str) -> Conversation:
        """A program without Spark."""
        return Conversation(name, _java(name))

    @staticmethod
    def in_spark(name: str, master: str) -> Conversation:
        """A program that is a driver."""
        return Conversation(name, _submit(name, master))

    def ask(self, **request: object) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            RuntimeError: if the program has failed to do what was asked.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {"error": "the program has ended"}
        if "error" in found:
            raise RuntimeError(f"{self._name}: {found['error']}")
        return found

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)


def _java(name: str) -> list[str]:
    path = os.pathsep.join(str(jar) for jar in [*program_jars(), *connector_jars(), _SPARK / "jars" / "*"])
    return ["java", "-Xmx1g", "-cp", path, f"{PACKAGE}.{name}"]


def _submit(name: str, master: str) -> list[str]:
    submit = [str(_SPARK / "bin" / "spark-submit"), "--master", master, "--driver-memory", "2g"]
    path = os.pathsep.join(map(str, [*program_jars(), *connector_jars()]))
    settings = (
        "spark.driver.host=127.0.0.1",
        "spark.driver.bindAddress=127.0.0.1",
        "spark.ui.enabled=false",
        "spark.log.level=ERROR",
    )
    submit += [part for setting in settings for part in ("--conf", setting)]
    return [*submit, "--driver-class-path", path, "--class", f"{PACKAGE}.{name}", str(program_jars()[0])]


def run_command(command: list[str]) -> list[dict[str, Any]]:
    """Run a command and return the lines of JSON that it prints."""
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in process.stdout.splitlines()]
