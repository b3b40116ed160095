"""``offsets``."""

from __future__ import annotations

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
from dynamic_kafka._tools.cli.arguments import as_json
from dynamic_kafka._tools.cli.output import print_json, print_table

_COLUMNS = ("cluster", "topic", "partition", "position", "end", "lag", "state")
_NUMBERS = frozenset(("partition", "position", "end", "lag"))


@dataclass(frozen=True)
class _Source:
    id: SourceId
    positions: list[Position]
    unknown: dict[str, str]


@click.command()
@click.argument("checkpoint", type=click.Path(exists=True, file_okay=False, readable=True, path_type=Path))
@click.option(
    "--lag/--no-lag", default=True, help="Ask the brokers for end offsets and print the lag.  [default: lag]"
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10,
    show_default=True,
    help="Limit per cluster for its end offsets, in seconds.",
)
@as_json
def offsets(checkpoint: Path, lag: bool, timeout: float, as_json: bool) -> None:
    """Prints the positions of a query: the newest offset in CHECKPOINT, a folder on this machine.

    To compute the lag, end offsets are requested from the brokers, at the addresses in the checkpoint. A
    checkpoint does not contain credentials: the lag of clusters that need them, and of unreachable clusters, is
    not known.
    The exit code is 0, or 1 if CHECKPOINT is not a checkpoint of a dynamic-kafka query.
    """
    try:
        batch = newest_batch(checkpoint)
        sources = _sources(checkpoint, batch, timeout if lag else None)
    except (CheckpointError, OSError, UnicodeDecodeError) as e:
        click.echo(str(e), err=True)
        raise SystemExit(1) from None
    if as_json:
        print_json(_json(batch, sources))
        return
    end = "finished" if batch.finished else "logged, not finished: it will be read again"
    click.echo(f"batch {batch.number} of {_time(batch.timestamp_ms)}, {end}")
    for source in sources:
        _print(source)


def _sources(checkpoint: Path, batch: LoggedBatch, timeout: float | None) -> list[_Source]:
    found = {id: text for id, text in batch.offsets.items() if text is not None and composite.is_composite(text)}
    if not found:
        raise CheckpointError(f"batch {batch.number} of {checkpoint} has no offset of a dynamic-kafka source")
    return [_source(checkpoint, id, text, timeout) for id, text in found.items()]


def _source(checkpoint: Path, id: SourceId, text: str, timeout: float | None) -> _Source:
    positions = positions_of(composite.read(text))
    if timeout is None:
        return _Source(id, positions, {})
    ends = ends_of(positions, remembered_clusters(checkpoint, id), timeout)
    known = [p.with_end(ends.get(p.cluster, Ends()).by_partition.get((p.topic, p.partition))) for p in positions]
    return _Source(id, known, {cluster: answer.missing for cluster, answer in ends.items() if answer.missing})


def _json(batch: LoggedBatch, sources: list[_Source]) -> dict[str, Any]:
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
            for source in sources
        ],
    }


def _print(source: _Source) -> None:
    click.echo(f"\nsource {source.id}\n")
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
