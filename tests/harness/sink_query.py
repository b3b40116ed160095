"""A query that writes to a stream, with all its runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .driver_process import DriverProcess, Event
from .query import FAST, Query

PATIENCE_S = 300.0


@dataclass
class SinkQuery(Query):
    """A query that writes exactly once; see Query.

    Args:
        target: Path of the metadata document with the stream `out`, and `copy` for the shape `both`.
        topics: The topic of each stream, on all clusters.
        shape: `mapped`, `both`, `counted`, `once` or `ordered`.
        write: The options of the sink.
    """

    target: Path = Path()
    topics: list[str] = field(default_factory=list)
    shape: str = "mapped"
    write: dict[str, str] = field(default_factory=dict)

    def begin(self, driver: DriverProcess, fault: Mapping[str, Any] | None = None, **options: str) -> SinkQuery:
        """Start a run, without waiting for it.

        Args:
            driver: The driver to run in.
            fault: `{"step": ..., "batch": ...}` halts at a step of a batch, None: of the first one that reaches it;
                `{"task": "hang" | "fail" | "race", "at": value}` injects a fault into a task.
            options: Options of the sink, for this run only.
        """
        self.folder.mkdir(exist_ok=True)
        self.driver, self.run = driver, self.run + 1
        self._first_event = len(driver.events())
        sink = {
            "metadataService": "file",
            "metadataService.path": str(self.target),
            "streamId": "out",
            "deliveryGuarantee": "exactly-once",
            **FAST,
            **self.write,
            **options,
        }
        source = {**FAST, **self.options}
        self._send("write", fault=dict(fault or {}), shape=self.shape, options=source, write=sink)
        return self

    def await_halt(self) -> Event:
        """Wait until the run is halted at the step of its fault."""
        return self.await_event("stuck", PATIENCE_S)

    def halted_or_terminated(self) -> Event | None:
        """The event that this run has halted or terminated, if it has."""
        return self._find("stuck") or self.terminated()

    def release(self) -> None:
        """Resume the run."""
        self._send("release")

    def fails_with(self, condition: str) -> str:
        """Wait until the query fails with this condition; return the text."""
        error = self.failure(PATIENCE_S)
        assert f"[DYNAMIC_KAFKA.{condition}]" in error, f"{self.name}: {error}"
        return error.split("=== Streaming Query ===")[0]

    def decisions(self) -> dict[str, dict[str, Any]]:
        """The decisions in the journal, by `<batch>-<round>`."""
        files = sorted(self.journal.glob("[0-9]*.json"))
        return {path.stem: json.loads(path.read_text()) for path in files}

    def done(self) -> set[str]:
        """The decisions that are marked as finished."""
        return {path.stem for path in self.journal.glob("[0-9]*.done")}

    @property
    def topic(self) -> str:
        """The topic of `out`."""
        return self.topics[0]

    @property
    def journal(self) -> Path:
        """The folder of the journal."""
        return self.checkpoint.folder / "dynamic-kafka-sink"
