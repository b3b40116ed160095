"""A query whose checkpoint and results remain when its driver is killed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .checker import SinkFolder
from .checkpoint import Checkpoint
from .driver_process import DriverProcess, Event
from .waiting import DEADLINE_S, until

# Short intervals for tests. Everything else has its default.
FAST = {"streamMetadataDiscoveryIntervalMs": "200"}


@dataclass
class Query:
    """A query with all its runs.

    Args:
        name: Unique among the queries of a driver.
        folder: For the checkpoint and the sink.
        metadata: Path of the metadata document.
        streams: The ids of the subscribed streams.
        options: The options of the source.
        service: `file`, or `python` for the slow service.
    """

    name: str
    folder: Path
    metadata: Path
    streams: list[str]
    options: dict[str, str] = field(default_factory=dict)
    service: str = "file"
    trigger: dict[str, Any] = field(default_factory=lambda: {"processingTime": "0 seconds"})
    driver: DriverProcess | None = None
    run: int = 0
    _first_event: int = 0

    @cached_property
    def sink(self) -> SinkFolder:
        """The output of the query."""
        return SinkFolder(self.folder)

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint of the query."""
        return Checkpoint(self.folder / "checkpoint")

    def begin(self, driver: DriverProcess, fault: Mapping[str, Any] | None = None, **options: str) -> Query:
        """Start a run, without waiting for it.

        Args:
            driver: The driver to run in.
            fault: One of the sink, see Sink, or `{"task": "hang" | "fail", "at": value}`: one of a task at that row.
            options: Options of the source, for this run only.
        """
        self.folder.mkdir(exist_ok=True)
        self.driver, self.run = driver, self.run + 1
        self._first_event = len(driver.events())
        self._send("start", fault=dict(fault or {}), options={**FAST, **self.options, **options})
        return self

    def start(self, driver: DriverProcess, fault: Mapping[str, Any] | None = None, **options: str) -> Query:
        """Start a run and wait until Spark runs the query; `options` apply to this run only."""
        self.begin(driver, fault, **options)
        self.await_event("started")
        return self

    def stop(self) -> None:
        """Stop the query as a user does; the driver keeps running."""
        if self.terminated() is None:
            self._send("stop")
            self._event("terminated", DEADLINE_S)

    def settle(self) -> None:
        """Wait until a running query is idle."""

        def settled() -> int:
            self.alive()
            return len([event for event in self._events() if event["event"] == "settled"])

        before = settled()
        self._send("settle")

        until(f"'{self.name}' is idle", lambda: settled() > before)

    def await_hit(self, second: bool = False) -> int:
        """Wait until a task, or its second attempt, is hit by the fault; return the id of its process."""
        marker = self.folder / ("task-fault.second.pid" if second else "task-fault.pid")

        def look() -> bool:
            self.alive()
            return marker.exists()

        until(f"a fault in a task of {self.name}", look, DEADLINE_S)
        return int(marker.read_text())

    def is_hit(self) -> bool:
        """Whether the fault has hit a task."""
        return (self.folder / "task-fault.pid").exists()

    def clear_fault(self) -> None:
        """Forget the fault of an earlier run, so that a task of the next run is hit."""
        for path in self.folder.glob("task-fault*"):
            path.unlink()

    def release_task(self) -> None:
        """Resume the hanging task."""
        (self.folder / "task-fault.go").touch()

    def explain(self) -> str:
        """Plans of the frame and of the running query."""
        self._send("explain", options={**FAST, **self.options})
        return str(self._event("explained", DEADLINE_S)["text"])

    def await_event(self, event: str, deadline_s: float = DEADLINE_S) -> Event:
        """Wait for an event of this run; its end is an error."""

        def look() -> Event | None:
            self.alive()
            return self._find(event)

        found = until(f"'{event}' of {self.name}", look, deadline_s)
        assert found is not None
        return found

    def failure(self, deadline_s: float = DEADLINE_S) -> str:
        """Wait until the query fails; return the error."""
        error = self._event("terminated", deadline_s)["error"]
        assert error is not None, f"{self.name} ended without an error"
        return str(error)

    def terminated(self) -> Event | None:
        """The event that ended this run, if it has ended."""
        return self._find("terminated")

    def alive(self) -> None:
        """Raise if this run has ended."""
        end = self.terminated()
        assert end is None, f"{self.name} ended: {end}; the log: {self._driver.log_path}"
        assert self._driver.is_alive(), f"the driver of {self.name} ended: {self._driver.log_path}"

    def progress(self) -> list[dict[str, Any]]:
        """The progress events of this run so far."""
        events = self._driver.events(self._first_event)
        return [e["progress"] for e in events if e["event"] == "progress" and e["query"] == self.name]

    def metric(self, name: str) -> str | None:
        """The latest value of a metric of the source."""
        all_progress = self.progress()
        return None if not all_progress else all_progress[-1]["sources"][0]["metrics"].get(name)

    @property
    def _driver(self) -> DriverProcess:
        assert self.driver is not None, f"{self.name} was never started"
        return self.driver

    def _find(self, event: str) -> Event | None:
        return next((found for found in self._events() if found["event"] == event), None)

    def _events(self) -> Iterator[Event]:
        """The events of this run so far."""
        for found in self._driver.events(self._first_event):
            if found.get("query") == self.name and found.get("run") == self.run:
                yield found

    def _event(self, event: str, deadline_s: float) -> Event:
        found = until(f"'{event}' of {self.name}", lambda: self._find(event), deadline_s)
        assert found is not None
        return found

    def _send(self, command: str, **more: Any) -> None:
        self._driver.send(
            command=command,
            query=self.name,
            run=self.run,
            folder=str(self.folder),
            metadata=str(self.metadata),
            streams=self.streams,
            service=self.service,
            trigger=self.trigger,
            **more,
        )
