"""``schema``."""

from __future__ import annotations

import click

from dynamic_kafka._tools.metadata_file.schema import schema_text


@click.command()
def schema() -> None:
    """Prints the JSON Schema of metadata files for editors."""
    click.echo(schema_text(), nl=False)
