"""The notes of a release: its section of CHANGELOG.md."""

from __future__ import annotations

import re


def notes(changelog: str, version: str) -> str:
    """The section of the version; for a snapshot, that of the version which it becomes, or of what is not released.

    Raises:
        ValueError: if there is none, or it is empty.
    """
    title = version.removesuffix("-SNAPSHOT")
    if title != version and f"\n## [{title}]" not in changelog:
        title = "Unreleased"
    section = re.search(rf"^## \[{re.escape(title)}\].*?\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    if section is None or not section[1].strip():
        raise ValueError(f"CHANGELOG.md has no section [{title}] with text")
    # Links of the repository do not lead anywhere in the notes of a release.
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", section[1]).strip() + "\n"
