"""A query in real-time mode that copies a stream, with all its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .driver_process import DriverProcess
from .query import FAST, Query
from .waiting import DEADLINE_S

# Batches end by themselves as well, not only by changes.
TRIGGER = {"realTime": "20 seconds"}


@dataclass
class RealTimeQuery(Query):
    """A query that writes at least once; see Query.

    Args:
        target: Path of the metadata document with the stream `out`.
        write: The options of the sink.
        starts: For each run, the offset of the last batch that was finished before it.
    """

    trigger: dict[str, Any] = field(default_factory=lambda: dict(TRIGGER))
    target: Path = Path()
    write: dict[str, str] = field(default_factory=dict)
    starts: list[Mapping[str, Any]] = field(default_factory=list)

    def begin(
        self, driver: DriverProcess, fault: Mapping[str, Any] | None = None, **options: str
    ) -> RealTimeQuery:
        """Start a run, without waiting for it.

        Args:
            driver: The driver to run in.
            fault: None: there are no faults of this kind.
            options: Options of the source, for this run only.
        """
        assert not fault
        self.folder.mkdir(exist_ok=True)
        self.driver, self.run = driver, self.run + 1
        self._first_event = len(driver.events())
        self.starts.append(self.checkpoint.last_finished())
        sink = {"metadataService": "file", "metadataService.path": str(self.target), "streamId": "out"}
        self._send("real_time", options={**FAST, **self.options, **options}, write={**sink, **FAST, **self.write})
        return self

    def end(self) -> None:
        """End the batch and stop the query, so that nothing is repeated."""
        self._send("end")
        ended = self._event("terminated", DEADLINE_S)
        assert ended["error"] is None, ended
