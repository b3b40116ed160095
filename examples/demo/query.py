"""The handle of the query: a process that reports its progress and that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any

EXAMPLES = Path(__file__).resolve().parents[1]
STOP_TIMEOUT_S = 15


class Query:
    """Starts demo/driver.py, after a kill with the same checkpoint.

    Args:
        program: The program of the driver, one of its `PROGRAMS`.
    """

    def __init__(self, folder: Path, streams: Path, batches: Path, program: str = "read") -> None:
        folder.mkdir(exist_ok=True)
        self.log = folder / "driver.log"
        self.runs = 0
        self.reports = 0
        self._folder = folder
        self._streams = streams
        self._batches = batches
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._progress: IO[str] | None = None
        self._line = ""
        self._last: dict[str, dict[str, Any]] = {}

    def start(self) -> None:
        """Start a driver, which resumes from its checkpoint."""
        self.runs += 1
        progress = self._folder / f"progress-{self.runs}.json"
        progress.touch()
        self._progress = progress.open()
        self._line = ""
        self._last = {}
        files = [self._streams, self._batches, self._folder / "checkpoint", progress]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "demo.driver", self._program, *files],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=os.environ | {"PYTHONPATH": str(EXAMPLES), "SPARK_LOCAL_IP": "127.0.0.1"},
                # One process group for Python and its JVM: they are killed together, but not by Ctrl-C at the terminal.
                start_new_session=True,
            )

    def kill(self) -> None:
        """Send SIGKILL to the whole driver, Python and JVM."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._forget()

    def stop(self) -> None:
        """Stop the driver gracefully, and kill it after a timeout."""
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
        """The process id of the driver, if it runs."""
        return None if self._process is None else self._process.pid

    def failed(self) -> bool:
        """Whether the driver ended unexpectedly."""
        return self._process is not None and self._process.poll() is not None

    def refresh(self) -> None:
        """Read the reports of the driver."""
        while self._progress is not None and (part := self._progress.readline()):
            self._line += part
            if self._line.endswith("\n"):
                progress = json.loads(self._line)
                self._last[progress["name"]] = progress
                self._line = ""
                self.reports += 1

    def idle(self, since: datetime) -> bool:
        """Whether the last trigger of each query found nothing to read that was written before `since`."""
        return bool(self._last) and all(found_nothing(progress, since) for progress in self._last.values())

    @property
    def found_nothing(self) -> bool:
        """Whether the last trigger of each query read nothing."""
        return bool(self._last) and all(progress["numInputRows"] == 0 for progress in self._last.values())

    @property
    def batch(self) -> int | None:
        """The last batch of the reader that has finished."""
        return int(self._last["reader"]["batchId"]) if "reader" in self._last else None

    def metric(self, name: str) -> str:
        """A metric of the reader's source after the last batch."""
        return str(self._source().get("metrics", {}).get(name, ""))

    def states(self, query: str = "reader") -> dict[str, str]:
        """Return the state of each cluster in the offset of a query's last batch."""
        offset = self._source(query).get("endOffset") or {}
        return (
            dict.fromkeys(offset.get("retained", {}), "retained")
            | dict.fromkeys(offset.get("clusters", {}), "active")
            | dict.fromkeys(offset.get("draining", {}), "draining")
        )

    def clusters(self, query: str = "reader") -> str:
        """The number of clusters that a query reads from."""
        return str(self._source(query).get("metrics", {}).get("kafkaClustersCount", ""))

    def log_tail(self, lines: int = 40) -> str:
        """Return the end of the driver's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""

    def _source(self, query: str = "reader") -> dict[str, Any]:
        return dict(self._last[query]["sources"][0]) if query in self._last else {}

    def _forget(self) -> None:
        self._process = None
        if self._progress is not None:
            self._progress.close()
            self._progress = None


def found_nothing(progress: dict[str, Any], since: datetime) -> bool:
    """Whether a trigger found nothing to read in offsets that were requested after a time.

    A trigger may use offsets that were requested before it (`clusterSnapshotMaxAgeMs`): it misses later records.

    Args:
        progress: The progress of a query with one source.
        since: A time, with its zone.
    """
    metrics = progress["sources"][0]["metrics"]
    ages = [int(value) for name, value in metrics.items() if name.startswith("snapshotAgeMs.")]
    # Python 3.10 does not know the suffix Z.
    begun = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00"))
    return (
        progress["numInputRows"] == 0
        and metrics.get("pendingRecords") == "0"
        # -1: a cluster has not responded yet.
        and min(ages, default=-1) >= 0
        # The ages are those of a later moment, so the offsets were requested at this time or later.
        and begun - timedelta(milliseconds=max(ages)) > since
    )
