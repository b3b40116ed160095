"""Arguments that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.cli.output import print_problems
from dynamic_kafka._tools.metadata_file.document import read_file
from dynamic_kafka.model import KafkaStream

metadata_file = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)

checkpoint_folder = click.Path(exists=True, file_okay=False, readable=True, path_type=Path)

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def streams_of(file: Path, exit_code: int = 1) -> dict[str, KafkaStream]:
    """Returns the streams of a metadata file, or exits if the file is not valid.

    Args:
        file: The metadata file.
        exit_code: The exit code for a file that is not valid.
    """
    document = read_file(file)
    if document.errors:
        print_problems(document.errors, str(file))
        raise SystemExit(exit_code)
    return document.streams


@contextmanager
def refusing() -> Iterator[None]:
    """Exits with 1 and the reason if a checkpoint cannot be read or changed."""
    try:
        yield
    except (CheckpointError, OSError, UnicodeDecodeError) as e:
        click.echo(str(e), err=True)
        raise SystemExit(1) from None
