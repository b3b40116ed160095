"""The idempotent sink: one file per batch id, which is replaced if the batch runs again."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Emit = Callable[..., None]
COLUMNS = ("cluster", "topic", "partition", "offset", "cast(value as string) as value", "stream")


class Sink:
    """The function that `foreachBatch` calls in the driver.

    Args:
        folder: Contains `sink/<batch>.json`, the output for users, and `attempts/<batch>.<attempt>.json`, the rows
            of each attempt, even if it was not written.
        fault: `{"when": "before" | "after", "batch": n}` or `{"when": ..., "cluster": id}`: the batch, or the
            first one with rows of the cluster, stops forever before or after it is written.
        emit: Reports events to the test.
    """

    def __init__(self, folder: Path, fault: Mapping[str, Any], emit: Emit) -> None:
        self._sink = folder / "sink"
        self._attempts = folder / "attempts"
        self._fault = fault
        self._emit = emit
        for made in (self._sink, self._attempts):
            made.mkdir(parents=True, exist_ok=True)

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Write a batch."""
        rows = sorted(list(row) for row in frame.selectExpr(*COLUMNS).collect())
        attempt = len(list(self._attempts.glob(f"{batch}.*.json")))
        replace(self._attempts / f"{batch}.{attempt}.json", json.dumps(rows))
        self._stop_at("before", batch, rows)
        replace(self._sink / f"{batch}.json", json.dumps(rows))
        self._emit("batch", batch=batch, rows=len(rows), attempt=attempt)
        self._stop_at("after", batch, rows)

    def _stop_at(self, when: str, batch: int, rows: list[list[Any]]) -> None:
        fault = self._fault
        here = fault.get("batch") == batch or any(row[0] == fault.get("cluster") for row in rows)
        if fault.get("when") == when and here:
            self._emit("stuck", batch=batch)
            threading.Event().wait()


def replace(path: Path, text: str) -> None:
    """Write a file atomically."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    part.write_text(text)
    part.replace(path)
