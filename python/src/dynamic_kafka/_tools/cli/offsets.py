"""``offsets``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.clusters import ends_of
from dynamic_kafka._tools.checkpoint.ends import Ends
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import LoggedBatch, SourceId, newest_batch
from dynamic_kafka._tools.checkpoint.memory import remembered_clusters
from dynamic_kafka._tools.checkpoint.positions import Position, positions_of
from dynamic_kafka._tools.checkpoint.sources import composite_texts
from dynamic_kafka._tools.cli.arguments import (
    as_json,
    checkpoint_folder,
    streams_of,
    with_metadata,
    with_timeout,
)
from dynamic_kafka._tools.cli.locations import refresh
from dynamic_kafka._tools.cli.output import print_json, print_table
from dynamic_kafka._tools.cli.watching import as_watch, check, repeat

_COLUMNS = ("cluster", "topic", "partition", "position", "end", "lag", "state")
_NUMBERS = frozenset(("partition", "position", "end", "lag"))


@dataclass(frozen=True)
class Source:
    """A source of the query, with its positions, and why the lag of a cluster is not known."""

    id: SourceId
    positions: list[Position]
    unknown: dict[str, str]
    history: dict[str, int]


with_clusters = with_metadata("A metadata file, with addresses of the clusters and what is needed to log in.")


@click.command()
@click.argument("checkpoint", type=checkpoint_folder)
@click.option(
    "--lag/--no-lag", default=True, help="Ask the brokers for end offsets and print the lag.  [default: lag]"
)
@with_clusters
@with_timeout("Limit per cluster for its end offsets, in seconds.")
@as_watch
@as_json
def offsets(
    checkpoint: Path, lag: bool, metadata: Path | None, timeout: float, watch: bool, as_json: bool
) -> None:
    """Prints the positions of a query: the newest offset in CHECKPOINT, a folder or a URI.

    To compute the lag, end offsets are requested from the brokers, with the properties in FILE, a metadata file,
    and otherwise at the addresses in the checkpoint. A checkpoint does not contain credentials: without FILE, the
    lag of clusters that need them is not known.
    The exit code is 0, or 1 if CHECKPOINT is not a checkpoint of a dynamic-kafka query.
    """
    check(watch, as_json)
    given = properties_of(metadata)

    def found() -> tuple[LoggedBatch, list[Source]]:
        refresh(checkpoint)
        batch = newest_batch(checkpoint)
        return batch, sources_of(checkpoint, batch, timeout if lag else None, given)

    errors = (CheckpointError, OSError, UnicodeDecodeError)
    try:
        batch, sources = found()
    except errors as e:
        click.echo(str(e), err=True)
        raise SystemExit(1) from None
    if watch:
        repeat(lambda: _print_all(*found()), errors)
    elif as_json:
        print_json(_json(batch, sources))
    else:
        _print_all(batch, sources)


def properties_of(metadata: Path | None) -> dict[str, Mapping[str, str]]:
    """The properties of the clusters in a metadata file. Exits if the file is not valid."""
    streams = streams_of(metadata) if metadata is not None else {}
    return {id: entry.properties for stream in streams.values() for id, entry in stream.clusters.items()}


def batch_line(batch: LoggedBatch) -> str:
    """The first line of the output."""
    end = "finished" if batch.finished else "logged, not finished: it will be read again"
    return f"batch {batch.number} of {_time(batch.timestamp_ms)}, {end}"


def sources_of(
    checkpoint: Path,
    batch: LoggedBatch,
    timeout: float | None,
    properties: Mapping[str, Mapping[str, str]],
    only_read: bool = False,
) -> list[Source]:
    """The sources of a batch.

    Args:
        checkpoint: Folder of the query's checkpoint.
        batch: The batch.
        timeout: Limit per cluster in seconds. None: no broker is asked.
        properties: Properties of clusters that take precedence over those in the checkpoint.
        only_read: Whether to leave out what has left.
    """
    found = []
    for id, text in composite_texts(checkpoint, batch).items():
        offset = composite.read(text)
        reads = [position for position in positions_of(offset) if position.since_ms is None or not only_read]
        clusters = {} if timeout is None else {**remembered_clusters(checkpoint, id), **properties}
        found.append(_source(id, reads, offset.history, clusters, timeout))
    return found


def _source(
    id: SourceId,
    positions: list[Position],
    history: dict[str, int],
    clusters: Mapping[str, Mapping[str, str]],
    timeout: float | None,
) -> Source:
    if timeout is None:
        return Source(id, positions, {}, history)
    ends = ends_of(positions, clusters, timeout)
    known = [p.with_end(ends.get(p.cluster, Ends()).by_partition.get((p.topic, p.partition))) for p in positions]
    return Source(id, known, {c: answer.missing for c, answer in ends.items() if answer.missing}, history)


def _json(batch: LoggedBatch, sources: list[Source]) -> dict[str, Any]:
    return {
        "batch": batch.number,
        "finished": batch.finished,
        "timestamp_ms": batch.timestamp_ms,
        "sources": [
            {
                "source": source.id,
                "positions": [position.to_json() for position in source.positions],
                "lag_unknown": source.unknown,
            }
            | ({"history_files": source.history} if source.history else {})
            for source in sources
        ],
    }


def _print_all(batch: LoggedBatch, sources: list[Source]) -> None:
    click.echo(batch_line(batch))
    for source in sources:
        _print(source)


def _print(source: Source) -> None:
    click.echo(f"\nsource {source.id}\n")
    for stream, files in source.history.items():
        click.echo(f"stream {stream}: {files} files of the history are read, and Kafka follows on the last one")
    rows = [(p.cluster, p.topic, p.partition, p.position, p.end, p.lag, _state(p)) for p in source.positions]
    print_table(_COLUMNS, rows, right=_NUMBERS)
    reading = [p.lag for p in source.positions if p.since_ms is None]
    known = [behind for behind in reading if behind is not None]
    if known or source.unknown:
        click.echo()
    if known:
        partly = " (where known)" if len(known) < len(reading) else ""
        click.echo(f"lag of the partitions being read: {sum(known)}{partly}")
    for cluster, reason in source.unknown.items():
        click.echo(f"lag of cluster {cluster} is not known: {reason}")


def _state(position: Position) -> str:
    state: str = position.state
    if position.target is not None:
        state += f" to {position.target}"
    if position.stop is not None:
        state += f", ends at {position.stop}"
    if position.since_ms is not None:
        state += f" since {_time(position.since_ms)}"
    if position.entered is not None:
        state += f", entered at {position.entered}"
    return state


def _time(epoch_ms: int | None) -> str:
    if epoch_ms is None:
        return "an unknown time"
    return datetime.fromtimestamp(epoch_ms / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
