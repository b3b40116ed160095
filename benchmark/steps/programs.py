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


def run_program(name: str, *arguments: object) -> list[dict[str, Any]]:
    """Run a program and return the lines of JSON that it prints."""
    spark_jars = Path(pyspark.__file__).parent / "jars" / "*"
    path = os.pathsep.join(str(jar) for jar in [*program_jars(), *connector_jars(), spark_jars])
    process = subprocess.run(
        ["java", "-Xmx1g", "-cp", path, f"{PACKAGE}.{name}", *map(str, arguments)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [json.loads(line) for line in process.stdout.splitlines()]
