"""Arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.cli.locations import Location, shown
from dynamic_kafka._tools.cli.output import print_problems
from dynamic_kafka._tools.metadata_file.document import read_file
from dynamic_kafka._tools.metadata_file.schema import did_you_mean
from dynamic_kafka.model import ClusterMetadata, KafkaStream

metadata_file = Location(is_folder=False)

checkpoint_folder = Location(is_folder=True)
"""Of commands that only read the newest batches."""

_COPY_IT = "copy it here, run the command, and copy the result back while no query runs with it"
whole_checkpoint = Location(is_folder=True, instead=_COPY_IT)
"""Of commands that read all of it, or change it."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def with_timeout(help: str) -> Callable[[_Command], _Command]:
    """The option ``--timeout``."""
    limit = click.FloatRange(min=0, min_open=True)
    return click.option("--timeout", type=limit, default=10, show_default=True, help=help)


def with_metadata(help: str, required: bool = False) -> Callable[[_Command], _Command]:
    """The option ``--metadata``."""
    return click.option("--metadata", metavar="FILE", type=metadata_file, required=required, help=help)


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def streams_of(file: Path, exit_code: int = 1) -> dict[str, KafkaStream]:
    """Returns the streams of a metadata file, or exits if the file is not valid.

    Args:
        file: The metadata file.
        exit_code: The exit code for a file that is not valid.
    """
    document = read_file(file)
    if document.errors:
        print_problems(document.errors, shown(file))
        raise SystemExit(exit_code)
    return document.streams


def cluster_in(file: Path, streams: Mapping[str, KafkaStream], cluster: str) -> list[ClusterMetadata]:
    """Returns what the streams of a metadata file have of a cluster.

    Raises:
        CheckpointError: if no stream has the cluster, with the most similar id.
    """
    found = [stream.clusters[cluster] for stream in streams.values() if cluster in stream.clusters]
    if not found:
        known = {id for stream in streams.values() for id in stream.clusters}
        raise CheckpointError(f"{shown(file)}: no stream has a cluster '{cluster}'.{did_you_mean(cluster, known)}")
    return found


@contextmanager
def refusing() -> Iterator[None]:
    """Exits with 1 and the reason if a checkpoint cannot be read or changed."""
    try:
        yield
    except (CheckpointError, OSError, UnicodeDecodeError) as e:
        click.echo(str(e), err=True)
        raise SystemExit(1) from None
