"""Adds the version in version.sbt to the wheel and the sdist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

GENERATED = "src/dynamic_kafka/_version.py"

TEMPLATE = '''"""Generated from version.sbt by the build."""

__version__ = "{python}"

JAR_VERSION = "{jar}"
'''


def version_file(root: Path) -> Path:
    """Returns version.sbt: beside pyproject.toml in an sdist, in the parent folder in the repository."""
    for candidate in (root / "version.sbt", root.parent / "version.sbt"):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"no version.sbt in {root} or {root.parent}")


def jar_version(root: Path) -> str:
    """Returns the version in version.sbt, such as ``0.1.0-SNAPSHOT``."""
    file = version_file(root)
    found = re.search(r'^\s*ThisBuild\s*/\s*version\s*:=\s*"([^"]+)"', file.read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{file} sets no ThisBuild / version")
    return found.group(1)


def python_version(jar: str) -> str:
    """Returns the version in Python's form: ``0.1.0.dev0``, ``0.1.0rc1`` or ``0.1.0``."""
    found = re.fullmatch(r"(\d+\.\d+\.\d+)(?:-(?:(SNAPSHOT)|RC(\d+)))?", jar)
    if found is None:
        raise ValueError(f"version '{jar}' does not have the form 1.2.3, 1.2.3-SNAPSHOT or 1.2.3-RC1")
    base, snapshot, candidate = found.groups()
    return base + (".dev0" if snapshot else f"rc{candidate}" if candidate else "")


class VersionMetadata(MetadataHookInterface):
    """Sets the version of the distribution."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets the dynamic field `version`."""
        metadata["version"] = python_version(jar_version(Path(self.root)))


class VersionFiles(BuildHookInterface[Any]):
    """Adds the version to the package, and version.sbt to the sdist, from which a wheel is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Writes the generated module before files are collected, also for editable installs."""
        root = Path(self.root)
        jar = jar_version(root)
        (root / GENERATED).write_text(TEMPLATE.format(python=python_version(jar), jar=jar), "utf-8")
        build_data["artifacts"].append(f"/{GENERATED}")
        if self.target_name == "sdist":
            build_data["force_include"][str(version_file(root))] = "version.sbt"
