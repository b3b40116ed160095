"""``validate``."""

from __future__ import annotations

from pathlib import Path

import click

from dynamic_kafka._tools.cli.arguments import as_json, metadata_file
from dynamic_kafka._tools.cli.locations import shown
from dynamic_kafka._tools.cli.output import count, print_json, print_problems
from dynamic_kafka._tools.metadata_file.document import read_file


@click.command()
@click.argument("file", type=metadata_file)
@as_json
def validate(file: Path, as_json: bool) -> None:
    """Checks whether the connector accepts FILE, a metadata file.

    Errors and warnings name file, line, stream, cluster and key. Warnings are about valid content that is probably
    a mistake. The exit code is 0 if there are no errors, even if there are warnings, and 1 otherwise.
    """
    document = read_file(file)
    name = shown(file)
    if as_json:
        print_json(
            {
                "file": name,
                "valid": not document.errors,
                "errors": [error.to_json(name) for error in document.errors],
                "warnings": [warning.to_json(name) for warning in document.warnings],
            }
        )
    else:
        print_problems(document.errors, name)
        for warning in document.warnings:
            click.echo(f"{warning.text(name)} (warning)", err=True)
        if document.errors:
            click.echo(count(len(document.errors), "error"), err=True)
        else:
            clusters = {id for stream in document.streams.values() for id in stream.clusters}
            click.echo(f"{name}: {count(len(document.streams), 'stream')} on {count(len(clusters), 'cluster')}")
    raise SystemExit(1 if document.errors else 0)
