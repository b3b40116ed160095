"""The handle of a driver process, which runs queries until it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from .waiting import until

REPOSITORY = Path(__file__).resolve().parents[2]
Event = dict[str, Any]


class DriverProcess:
    """A driver that starts at once; `ready` waits for it.

    Args:
        folder: For its log and Spark's files.
        conf: Session settings in addition to those of all drivers.
    """

    def __init__(self, folder: Path, conf: Mapping[str, str] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log_path = folder / "driver.log"
        self._events: list[Event] = []
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.harness.driver_program", str(folder), json.dumps(dict(conf or {}))],
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # A separate process group, so that one signal reaches Python and JVM at the same moment.
                start_new_session=True,
            )
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        """The id of the process and of its group."""
        return self._process.pid

    def ready(self) -> DriverProcess:
        """Wait until the session is running."""
        self.await_event("the driver", lambda event: event["event"] == "ready", 300)
        return self

    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def send(self, **command: Any) -> None:
        """Write a command."""
        stdin: IO[bytes] | None = self._process.stdin
        assert stdin is not None
        stdin.write(json.dumps(command).encode() + b"\n")
        stdin.flush()

    def events(self, start: int = 0) -> list[Event]:
        """All events so far, beginning with the given number."""
        return self._events[start:]

    def await_event(self, what: str, matches: Callable[[Event], bool], deadline_s: float = 300) -> Event:
        """Wait for an event, which may be an earlier one."""

        def look() -> Event | None:
            found = next((event for event in self.events() if matches(event)), None)
            if found is None and not self.is_alive():
                raise AssertionError(f"the driver ended; its log: {self.log_path}\n{self.log()[-3000:]}")
            return found

        found = until(what, look, deadline_s)
        assert found is not None
        return found

    def log(self) -> str:
        """The log so far."""
        return self.log_path.read_text(errors="replace")

    def event_log(self) -> str:
        """Spark's event log, for its history server."""
        files = sorted(path for path in (self.log_path.parent / "events").rglob("*") if path.is_file())
        return "\n".join(path.read_text(errors="replace") for path in files)

    def kill(self) -> None:
        """Send SIGKILL to Python and JVM at once."""
        if self.is_alive():
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def freeze(self) -> None:
        """Send SIGSTOP to Python and JVM: connections stay open, and nothing happens until `thaw` or `kill`."""
        os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Send SIGCONT: end `freeze`."""
        os.killpg(self.pid, signal.SIGCONT)

    def abandon(self) -> None:
        """Close its stdin, as if the test had died; returns when Python and JVM have ended."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        until("the end of an abandoned driver", lambda: not self.is_alive() and not _runs(self.pid), 20)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._events.append(json.loads(line))


def _runs(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
