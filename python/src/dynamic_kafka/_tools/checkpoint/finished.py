"""Whether a query has finished what it has planned: only then its checkpoint is copied or edited."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import (
    LoggedBatch,
    SourceId,
    check_commit,
    finished,
    logged,
    read_batch,
)

_ONCE_MORE = "start the {query} once more, with availableNow, and repeat the command when it has ended"


def newest_finished(checkpoint: Path, query: str = "query") -> LoggedBatch:
    """Returns the newest batch, which is finished.

    Args:
        checkpoint: Folder of the query's checkpoint.
        query: What messages call the query.

    Raises:
        CheckpointError: if a batch is not finished, with what to do.
    """
    planned, done = logged(checkpoint), finished(checkpoint)
    newest = planned[-1]
    again = _ONCE_MORE.format(query=query)
    if not done:
        batches = ", ".join(map(str, planned))
        raise CheckpointError(f"nothing is committed in {checkpoint}, which has planned batch {batches}: {again}")
    unfinished = [number for number in planned if number > done[-1]]
    if len(unfinished) > 1:
        batches = ", ".join(map(str, unfinished))
        raise CheckpointError(
            f"batches {batches} of {checkpoint} are logged and not finished: {again}. It must not track its "
            "progress asynchronously"
        )
    if unfinished:
        raise CheckpointError(f"batch {newest} of {checkpoint} is logged and not finished: {again}")
    if newest != done[-1]:
        raise CheckpointError(
            f"batch {done[-1]} of {checkpoint} is committed, but the newest batch in 'offsets' is {newest}: a "
            "part of the checkpoint is lost"
        )
    check_commit(checkpoint, newest)
    return read_batch(checkpoint, newest)


def check_deferred(checkpoint: Path, source: SourceId, batch: LoggedBatch, query: str = "query") -> None:
    """Fails if records of the newest batch are deferred, because the next batch has to read them.

    Raises:
        CheckpointError: with what to do.
    """
    folder = checkpoint / "sources" / str(source) / "dynamic-kafka" / "deferred"
    digest = hashlib.sha256((batch.offsets[source] or "").encode()).hexdigest()
    for file in sorted(folder.glob("*.json")):
        if file.with_suffix(".entered").exists():
            continue
        try:
            ends_here = json.loads(file.read_text("utf-8"))["end"] == digest
        except (json.JSONDecodeError, LookupError, TypeError):
            raise CheckpointError(f"{file} is not a deferral that the connector wrote") from None
        if ends_here:
            raise CheckpointError(
                f"records of batch {batch.number} of {checkpoint} are deferred, and not read yet: "
                + _ONCE_MORE.format(query=query)
            )
