"""Spark's offset log and commit log in a checkpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dynamic_kafka._tools.checkpoint.error import CheckpointError

_VERSION = "v1"
_NO_OFFSET = "-"


@dataclass(frozen=True)
class LoggedBatch:
    """One entry of the offset log.

    Attributes:
        number: Number of the batch.
        finished: Whether the commit log has the batch. If not, the query reads the batch again.
        timestamp_ms: When the batch was planned, in milliseconds since 1970-01-01 UTC. None if the log does not
            contain it.
        offsets: The offset where the batch ends, for each source. None for a source without an offset.
    """

    number: int
    finished: bool
    timestamp_ms: int | None
    offsets: tuple[str | None, ...]


def newest_batch(checkpoint: Path) -> LoggedBatch:
    """Returns the batch that was logged last.

    Raises:
        CheckpointError: if the folder is not a checkpoint, or its log has another format.
    """
    folder = checkpoint / "offsets"
    if not folder.is_dir():
        raise CheckpointError(f"{checkpoint} is not a checkpoint of a streaming query: it has no folder 'offsets'")
    numbers = [int(file.name) for file in folder.iterdir() if file.name.isdecimal()]
    if not numbers:
        raise CheckpointError(f"{folder} is empty: the query has not planned a batch yet")
    newest = max(numbers)
    finished = (checkpoint / "commits" / str(newest)).is_file()
    return _parsed(folder / str(newest), newest, finished)


def _parsed(file: Path, number: int, finished: bool) -> LoggedBatch:
    version, *lines = file.read_text("utf-8").removesuffix("\n").split("\n")
    if version != _VERSION:
        raise CheckpointError(f"{file}: this release supports version {_VERSION} of Spark's offset log")
    if not lines:
        raise CheckpointError(f"{file} is truncated")
    metadata, *offsets = lines
    try:
        planned = json.loads(metadata).get("batchTimestampMs") if metadata else None
    except (json.JSONDecodeError, AttributeError):
        raise CheckpointError(f"{file}: the line of the batch's metadata is not JSON") from None
    timestamp = planned if isinstance(planned, int) else None
    return LoggedBatch(number, finished, timestamp, tuple(None if o == _NO_OFFSET else o for o in offsets))
