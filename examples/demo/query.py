"""The query, as the demo sees it: a process that reports, and that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

EXAMPLES = Path(__file__).resolve().parents[1]
STOP_TIMEOUT_S = 15


class Query:
    """Starts demo/driver.py, again with the same checkpoint after it was killed."""

    def __init__(self, folder: Path, streams: Path, batches: Path) -> None:
        self.log = folder / "driver.log"
        self.runs = 0
        self.reports = 0
        self._folder = folder
        self._streams = streams
        self._batches = batches
        self._process: subprocess.Popen[bytes] | None = None
        self._progress: IO[str] | None = None
        self._line = ""
        self._last: dict[str, Any] | None = None

    def start(self) -> None:
        """Start a driver; it goes on where its checkpoint ends."""
        self.runs += 1
        progress = self._folder / f"progress-{self.runs}.json"
        progress.touch()
        self._progress = progress.open()
        self._line = ""
        files = [self._streams, self._batches, self._folder / "checkpoint", progress]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "demo.driver", *files],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=os.environ | {"PYTHONPATH": str(EXAMPLES), "SPARK_LOCAL_IP": "127.0.0.1"},
                # One group for Python and its JVM: killed together, and not reached by a Ctrl-C at the terminal.
                start_new_session=True,
            )

    def kill(self) -> None:
        """SIGKILL to the whole driver, Python and JVM."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._forget()

    def stop(self) -> None:
        """End it in order, and by force if that takes too long."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._forget()

    @property
    def pid(self) -> int | None:
        """Of the driver, if there is one."""
        return None if self._process is None else self._process.pid

    def failed(self) -> bool:
        """Whether it ended without being asked to."""
        return self._process is not None and self._process.poll() is not None

    def refresh(self) -> None:
        """Read what the driver has reported."""
        while self._progress is not None and (part := self._progress.readline()):
            self._line += part
            if self._line.endswith("\n"):
                self._last = json.loads(self._line)
                self._line = ""
                self.reports += 1

    @property
    def idle(self) -> bool:
        """Whether the last trigger found nothing to read."""
        return self._last is not None and self._last["numInputRows"] == 0 and self.metric("pendingRecords") == "0"

    @property
    def batch(self) -> int | None:
        """The last batch that has finished."""
        return None if self._last is None else int(self._last["batchId"])

    def metric(self, name: str) -> str:
        """A metric of the source after the last batch."""
        return str(self._source().get("metrics", {}).get(name, ""))

    def states(self) -> dict[str, str]:
        """Return what the last batch's offset says of each cluster."""
        offset = self._source().get("endOffset") or {}
        return (
            dict.fromkeys(offset.get("retained", {}), "retained")
            | dict.fromkeys(offset.get("clusters", {}), "active")
            | dict.fromkeys(offset.get("draining", {}), "draining")
        )

    def log_tail(self, lines: int = 40) -> str:
        """Return the end of the driver's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    def _source(self) -> dict[str, Any]:
        return {} if self._last is None else dict(self._last["sources"][0])

    def _forget(self) -> None:
        self._process = None
        if self._progress is not None:
            self._progress.close()
            self._progress = None
