"""Compiles Scala with the compiler that is part of PySpark."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pyspark

_SPARK_JARS = Path(pyspark.__file__).parent / "jars" / "*"


def compiled(source: Path, folder: Path, jars: Iterable[Path] = ()) -> Path:
    """A jar of one source file, in a folder that exists. Warnings are errors, as they may be for users."""
    classes = folder / "classes"
    classes.mkdir()
    class_path = os.pathsep.join(map(str, (_SPARK_JARS, *jars)))
    scalac = ["java", "-cp", class_path, "scala.tools.nsc.Main", "-usejavacp", "-Xlint", "-Werror"]
    jar = folder / f"{source.stem}.jar"
    _run([*scalac, "-d", str(classes), str(source)])
    _run(["jar", "--create", "--file", str(jar), "-C", str(classes), "."])
    return jar


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
