"""``lag``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import LoggedBatch, newest_batch
from dynamic_kafka._tools.checkpoint.positions import Position
from dynamic_kafka._tools.cli.arguments import as_json, checkpoint_folder, with_timeout
from dynamic_kafka._tools.cli.locations import refresh
from dynamic_kafka._tools.cli.offsets import (
    Source,
    batch_line,
    properties_of,
    sources_of,
    with_clusters,
)
from dynamic_kafka._tools.cli.output import print_json, print_table
from dynamic_kafka._tools.cli.watching import as_watch, check, repeat

_COLUMNS = ("cluster", "topic", "partitions", "lag")
_ERRORS = (CheckpointError, OSError, UnicodeDecodeError)


@dataclass(frozen=True)
class _Lag:
    cluster: str
    topic: str
    partitions: int
    lag: int | None


@click.command()
@click.argument("checkpoint", type=checkpoint_folder)
@with_clusters
@with_timeout("Limit per cluster for its end offsets, in seconds.")
@as_watch
@as_json
def lag(checkpoint: Path, metadata: Path | None, timeout: float, watch: bool, as_json: bool) -> None:
    """Prints how far a query is behind, by cluster and topic, from CHECKPOINT, a folder or a URI.

    Only what is being read counts. With --metadata, the brokers are reached with the properties in FILE, a
    metadata file, and otherwise with those in the checkpoint, which contains no credentials.
    The exit code is 0, or 1 if the lag of a cluster is not known, or CHECKPOINT is not a checkpoint of a
    dynamic-kafka query.
    """
    check(watch, as_json)
    given = properties_of(metadata)

    def found() -> tuple[LoggedBatch, list[Source]]:
        refresh(checkpoint)
        batch = newest_batch(checkpoint)
        return batch, sources_of(checkpoint, batch, timeout, given, only_read=True)

    try:
        batch, sources = found()
    except _ERRORS as e:
        click.echo(str(e), err=True)
        raise SystemExit(1) from None
    if watch:
        repeat(lambda: _print(*found()), _ERRORS)
        return
    if as_json:
        print_json(_json(batch, sources))
    else:
        _print(batch, sources)
    raise SystemExit(1 if any(source.unknown for source in sources) else 0)


def _by_topic(positions: Iterable[Position]) -> list[_Lag]:
    by_topic: dict[tuple[str, str], list[int | None]] = {}
    for position in positions:
        by_topic.setdefault((position.cluster, position.topic), []).append(position.lag)
    return [_Lag(cluster, topic, len(lags), _sum(lags)) for (cluster, topic), lags in by_topic.items()]


def _sum(lags: Iterable[int | None]) -> int | None:
    """The total, or None if a part is not known."""
    known = list(lags)
    return None if None in known else sum(lag for lag in known if lag is not None)


def _json(batch: LoggedBatch, sources: list[Source]) -> dict[str, Any]:
    return {
        "batch": batch.number,
        "finished": batch.finished,
        "timestamp_ms": batch.timestamp_ms,
        "sources": [
            {
                "source": source.id,
                "lag": _sum(position.lag for position in source.positions),
                "topics": [
                    {"cluster": one.cluster, "topic": one.topic, "partitions": one.partitions, "lag": one.lag}
                    for one in _by_topic(source.positions)
                ],
                "lag_unknown": source.unknown,
            }
            for source in sources
        ],
    }


def _print(batch: LoggedBatch, sources: list[Source]) -> None:
    click.echo(batch_line(batch))
    for source in sources:
        click.echo(f"\nsource {source.id}\n")
        lags = _by_topic(source.positions)
        rows = [(one.cluster, one.topic, one.partitions, one.lag) for one in lags]
        print_table(_COLUMNS, rows, right=frozenset(("partitions", "lag")))
        known = [position.lag for position in source.positions if position.lag is not None]
        partly = " (where known)" if len(known) < len(source.positions) else ""
        click.echo(f"\nlag: {sum(known)}{partly}" if known else "")
        for cluster, reason in source.unknown.items():
            click.echo(f"lag of cluster {cluster} is not known: {reason}")
