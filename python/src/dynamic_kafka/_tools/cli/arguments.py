"""Arguments that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from dynamic_kafka._tools.cli.output import print_problems
from dynamic_kafka._tools.metadata_file.document import read_file
from dynamic_kafka.model import KafkaStream

metadata_file = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)

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
