"""A home directory with Maven's and Ivy's folders, to which the connector has been published."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from dynamic_kafka import _artifact

ROOT = Path(__file__).resolve().parents[2]
# `make extra NAME=published` publishes to this folder; Spark looks there first.
PUBLISHED = ROOT / "target" / "home"
COORDINATE = _artifact.coordinate(_artifact.spark_line())
LIMIT_S = 600
# Spark's settings for all programs of these tests.
CONF = {"spark.ui.enabled": "false", "spark.driver.host": "localhost", "spark.sql.shuffle.partitions": "1"}


def published() -> Path:
    """The folder of the connector's artifact.

    Raises:
        FileNotFoundError: if it has not been published.
    """
    group, artifact, version = COORDINATE.split(":")
    folder = PUBLISHED / ".m2" / "repository" / group.replace(".", "/") / artifact / version
    if not list(folder.glob("*.pom")):
        raise FileNotFoundError(f"{COORDINATE} is not in {PUBLISHED}: run 'make extra NAME=published'")
    return folder


def environment(**more: str) -> dict[str, str]:
    """The environment of a program that uses Maven's local repository in that home."""
    published()
    cleared = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return cleared | {"SPARK_SUBMIT_OPTS": f"-Duser.home={PUBLISHED}", "PYSPARK_PYTHON": sys.executable} | more


def conf(folder: Path) -> list[str]:
    """The settings as arguments. The cache is new, because an old one would hide missing artifacts."""
    settings = CONF | {"spark.jars.ivy": str(folder / "ivy"), "spark.sql.warehouse.dir": str(folder / "warehouse")}
    return [argument for name, value in settings.items() for argument in ("--conf", f"{name}={value}")]


def run(command: list[str], cwd: Path, env: Mapping[str, str], stdin: str = "") -> str:
    """The output of a program. Its failure is an error that contains all output."""
    done = subprocess.run(
        command, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout
