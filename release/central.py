"""What is uploaded to Maven Central: the files of a build and their checksums, in the layout of a repository."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from release.artifacts import GROUP


def bundle(repository: Path, to: Path) -> None:
    """Copy jars and POMs, whose bytes were verified, and write the checksums that Maven Central requires."""
    for file in sorted(repository.joinpath(*GROUP.split(".")).rglob("*")):
        if file.suffix in (".jar", ".pom"):
            copy = to / file.relative_to(repository)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
            for kind in ("md5", "sha1"):
                copy.with_name(f"{copy.name}.{kind}").write_text(hashlib.new(kind, copy.read_bytes()).hexdigest())
