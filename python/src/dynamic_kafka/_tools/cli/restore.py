"""``restore``."""

from __future__ import annotations

from pathlib import Path

import click

from dynamic_kafka._tools.checkpoint import edits
from dynamic_kafka._tools.cli.arguments import as_json, refusing, whole_checkpoint
from dynamic_kafka._tools.cli.output import print_json


@click.command()
@click.argument("checkpoint", type=whole_checkpoint)
@as_json
def restore(checkpoint: Path, as_json: bool) -> None:
    """Undoes the newest edit of CHECKPOINT, by `rename-cluster` or `reset`: its files are again what they were.

    The exit code is 0, or 1 if there is no edit, or the query has logged a batch since: then nothing is changed.
    """
    with refusing():
        undone = edits.restore(checkpoint)
    files = sorted(name for name in undone.files if not Path(name).name.startswith("."))
    if as_json:
        print_json({"edit": undone.command, "batch": undone.batch, "files": files})
        return
    click.echo(f"undone: {undone.command}, after batch {undone.batch}")
    for name in files:
        click.echo(f"  {name}")
