"""Reads a query's checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Checkpoint:
    """Spark's logs and the files of the source."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def offsets(self) -> dict[int, dict[str, Any]]:
        """Logged composite offsets by batch."""
        return {batch: json.loads(text.splitlines()[-1]) for batch, text in self._log("offsets").items()}

    def last(self) -> dict[str, Any]:
        """The last logged offset; empty if there is none."""
        logged = self.offsets()
        return logged[max(logged)] if logged else {}

    def last_finished(self) -> dict[str, Any]:
        """The offset of the last finished batch; empty if there is none."""
        done, logged = self.committed(), self.offsets()
        return logged[done[-1]] if done else {}

    def committed(self) -> list[int]:
        """Finished batches."""
        return sorted(self._log("commits"))

    def unfinished(self) -> list[int]:
        """Batches that are logged but not finished."""
        return sorted(set(self._log("offsets")) - set(self.committed()))

    def text(self) -> str:
        """All files as text."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return "\n".join(path.read_text(errors="replace") for path in files)

    def _log(self, name: str) -> dict[int, str]:
        found = {}
        for path in (self.folder / name).glob("[0-9]*"):
            try:
                found[int(path.name)] = path.read_text()
            except FileNotFoundError:
                pass  # Spark deletes old files.
        return found
