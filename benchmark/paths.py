"""The jars that the build has created."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTKIT = ROOT / "jvm" / "testkit" / "python"
_JARS = ROOT / "jvm" / "connector" / "target" / "jars"
_PROGRAMS = ROOT / "jvm" / "benchmark" / "target" / "scala-2.13"


def connector_jars() -> list[Path]:
    """The connector's jar and its dependencies beside Spark."""
    return _built(_JARS)


def program_jars() -> list[Path]:
    """The jar of jvm/benchmark."""
    return _built(_PROGRAMS)


def use_testkit() -> None:
    """Make the testkit importable, which is not an installed package."""
    if str(TESTKIT) not in sys.path:
        sys.path.insert(0, str(TESTKIT))


def _built(folder: Path) -> list[Path]:
    jars = sorted(folder.glob("*.jar"))
    if not jars:
        raise SystemExit(f"no jar in {folder}: run 'make jars' first")
    return jars
