"""Spark's offset log and commit log in a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dynamic_kafka._tools.checkpoint.error import CheckpointError

OFFSETS = "offsets"
COMMITS = "commits"
_OFFSET_VERSIONS = ("v1", "v2")
_COMMIT_VERSIONS = ("v1", "v2", "v3")
_NO_OFFSET = "-"

SourceId = int | str
"""Spark's number of a source, from 0, or the name that the query gives to the source."""


@dataclass(frozen=True)
class LoggedBatch:
    """One entry of the offset log.

    Attributes:
        number: Number of the batch.
        finished: Whether the commit log has the batch. If not, the query reads the batch again.
        timestamp_ms: When the batch was planned, in milliseconds since 1970-01-01 UTC. None if the log does not
            contain it.
        offsets: The offset where the batch ends, for each source. None for a source without an offset.
        version: Version of the log entry.
        metadata: The line of the batch's metadata.
    """

    number: int
    finished: bool
    timestamp_ms: int | None
    offsets: Mapping[SourceId, str | None]
    version: str
    metadata: str

    def text(self, changed: Mapping[SourceId, str]) -> str:
        """The log entry with these offsets in place of those of the same sources."""
        lines = [self.version, self.metadata]
        for source, offset in {**self.offsets, **changed}.items():
            shown = _NO_OFFSET if offset is None else offset
            lines.append(shown if self.version == "v1" else f"{source}:{shown}")
        return "\n".join(lines)


def newest_batch(checkpoint: Path) -> LoggedBatch:
    """Returns the batch that was logged last.

    Raises:
        CheckpointError: if the folder is not a checkpoint, or its log has another format.
    """
    return read_batch(checkpoint, logged(checkpoint)[-1])


def logged(checkpoint: Path) -> list[int]:
    """Returns the numbers of all batches in the offset log, which are at least one.

    Raises:
        CheckpointError: if the folder is not a checkpoint, or has no batch.
    """
    folder = checkpoint / OFFSETS
    if not folder.is_dir():
        raise CheckpointError(f"{checkpoint} is not a checkpoint of a streaming query: it has no folder 'offsets'")
    numbers = _numbers(folder)
    if not numbers:
        raise CheckpointError(f"{folder} is empty: the query has not planned a batch yet")
    return numbers


def finished(checkpoint: Path) -> list[int]:
    """Returns the numbers of all batches in the commit log."""
    folder = checkpoint / COMMITS
    return _numbers(folder) if folder.is_dir() else []


def check_commit(checkpoint: Path, number: int) -> None:
    """Fails if an entry of the commit log has a version that is not known.

    Raises:
        CheckpointError: with the versions that are known.
    """
    file = checkpoint / COMMITS / str(number)
    version = file.read_text("utf-8").partition("\n")[0].strip()
    if version not in _COMMIT_VERSIONS:
        raise _unknown(file, "commit log", _COMMIT_VERSIONS)


def read_batch(checkpoint: Path, number: int) -> LoggedBatch:
    """Reads one entry of the offset log.

    Raises:
        CheckpointError: if it has another format.
    """
    file = checkpoint / OFFSETS / str(number)
    version, *lines = file.read_text("utf-8").removesuffix("\n").split("\n")
    if version not in _OFFSET_VERSIONS:
        raise _unknown(file, "offset log", _OFFSET_VERSIONS)
    if not lines:
        raise CheckpointError(f"{file} is truncated")
    metadata, *offsets = lines
    try:
        planned = json.loads(metadata).get("batchTimestampMs") if metadata else None
    except (json.JSONDecodeError, AttributeError):
        raise CheckpointError(f"{file}: the line of the batch's metadata is not JSON") from None
    return LoggedBatch(
        number,
        (checkpoint / COMMITS / str(number)).is_file(),
        planned if isinstance(planned, int) else None,
        {
            source: None if offset == _NO_OFFSET else offset
            for source, offset in _by_source(file, version, offsets)
        },
        version,
        metadata,
    )


def _by_source(file: Path, version: str, lines: list[str]) -> list[tuple[SourceId, str]]:
    if version == "v1":
        return list(enumerate(lines))
    found: list[tuple[SourceId, str]] = []
    for line in lines:
        source, colon, offset = line.partition(":")
        if not source or not colon:
            raise CheckpointError(f"{file}: a line of an offset does not begin with the id of its source")
        found.append((int(source) if source.isdecimal() else source, offset))
    return found


def _numbers(folder: Path) -> list[int]:
    return sorted(int(file.name) for file in folder.iterdir() if file.name.isdecimal())


def _unknown(file: Path, log: str, versions: tuple[str, ...]) -> CheckpointError:
    return CheckpointError(f"{file}: this release supports versions {', '.join(versions)} of Spark's {log}")
