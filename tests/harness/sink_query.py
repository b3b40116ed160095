"""A query that writes to a stream, with all its runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .driver_process import DriverProcess, Event
from .query import FAST, Query
from .waiting import until

PATIENCE_S = 300.0


@dataclass
class SinkQuery(Query):
    """See Query.

    Args:
        target: Path of the metadata document that knows the stream `out`.
        topic: Of that stream, on all its clusters.
        shape: `mapped`, `counted` or `once`.
        write: Options of the sink.
    """

    target: Path = Path()
    topic: str = ""
    shape: str = "mapped"
    write: dict[str, str] = field(default_factory=dict)

    def begin(self, driver: DriverProcess, fault: Mapping[str, Any] | None = None, **options: str) -> SinkQuery:
        """Start a run, without waiting for it.

        Args:
            driver: Where.
            fault: `{"step": ..., "batch": ...}`: halt there; `{"task": "hang" | "fail" | "race", "at": value}`.
            options: Of the sink, for this run only.
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
        """Wait until it is halted at the step of its fault."""
        return self.await_event("stuck", PATIENCE_S)

    def halted_or_terminated(self) -> Event | None:
        """Whichever of the two this run has come to."""
        return self._find("stuck") or self.terminated()

    def release(self) -> None:
        """Resume the run."""
        self._send("release")

    def await_hit(self, second: bool = False) -> int:
        """Wait until a task is hit by the fault, or its second attempt; return the process that it runs in."""
        marker = self.folder / ("task-fault.second.pid" if second else "task-fault.pid")

        def look() -> bool:
            self.alive()
            return marker.exists()

        until(f"a task of {self.name} that is hit", look, PATIENCE_S)
        return int(marker.read_text())

    def release_task(self) -> None:
        """Resume the task that hangs."""
        (self.folder / "task-fault.go").touch()

    def fails_with(self, condition: str) -> str:
        """Wait until the query fails, with this error; return its text."""
        error = self.failure(PATIENCE_S)
        assert f"[DYNAMIC_KAFKA.{condition}]" in error, f"{self.name}: {error}"
        return error.split("=== Streaming Query ===")[0]

    def finishes(self, batch: int) -> None:
        """Wait until Spark has noted a batch as done."""

        def look() -> bool:
            self.alive()
            return batch in self.checkpoint.committed()

        until(f"batch {batch} of {self.name}", look, PATIENCE_S)

    def decisions(self) -> dict[str, dict[str, Any]]:
        """The journal: decisions by `<batch>-<round>`."""
        files = sorted(self.journal.glob("[0-9]*.json"))
        return {path.stem: json.loads(path.read_text()) for path in files}

    def done(self) -> set[str]:
        """Decisions that are marked as done."""
        return {path.stem for path in self.journal.glob("[0-9]*.done")}

    @property
    def journal(self) -> Path:
        """Its folder."""
        return self.checkpoint.folder / "dynamic-kafka-sink"
