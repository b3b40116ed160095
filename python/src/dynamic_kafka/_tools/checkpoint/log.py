"""Spark's own logs in a checkpoint."""

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
        number: The batch.
        finished: Whether it is in the commit log, too. If not, it will be read again.
        timestamp_ms: When it was planned; None if Spark did not tell.
        offsets: Where it ends, by source; None for a source without an offset.
    """

    number: int
    finished: bool
    timestamp_ms: int | None
    offsets: tuple[str | None, ...]


def newest_batch(checkpoint: Path) -> LoggedBatch:
    """The batch that was logged last.

    Raises:
        CheckpointError: if this is no checkpoint, or none of this format.
    """
    folder = checkpoint / "offsets"
    if not folder.is_dir():
        raise CheckpointError(f"{checkpoint} is no checkpoint of a streaming query: it has no folder 'offsets'")
    numbers = [int(file.name) for file in folder.iterdir() if file.name.isdecimal()]
    if not numbers:
        raise CheckpointError(f"{folder} is empty: the query has not planned a batch yet")
    newest = max(numbers)
    finished = (checkpoint / "commits" / str(newest)).is_file()
    return _parsed(folder / str(newest), newest, finished)


def _parsed(file: Path, number: int, finished: bool) -> LoggedBatch:
    version, *lines = file.read_text("utf-8").removesuffix("\n").split("\n")
    if version != _VERSION:
        raise CheckpointError(f"{file}: this release reads version {_VERSION} of Spark's offset log")
    if not lines:
        raise CheckpointError(f"{file} is cut off")
    metadata, *offsets = lines
    try:
        planned = json.loads(metadata).get("batchTimestampMs") if metadata else None
    except (json.JSONDecodeError, AttributeError):
        raise CheckpointError(f"{file}: the line of the batch's metadata is not JSON") from None
    timestamp = planned if isinstance(planned, int) else None
    return LoggedBatch(number, finished, timestamp, tuple(None if o == _NO_OFFSET else o for o in offsets))
