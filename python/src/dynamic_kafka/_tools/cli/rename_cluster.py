"""``rename-cluster``."""

from __future__ import annotations

from pathlib import Path

import click

from dynamic_kafka._tools.checkpoint import edits
from dynamic_kafka._tools.checkpoint.finished import newest_finished
from dynamic_kafka._tools.checkpoint.rename import renamed
from dynamic_kafka._tools.cli.arguments import as_json, refusing, whole_checkpoint
from dynamic_kafka._tools.cli.output import print_json


@click.command("rename-cluster")
@click.argument("checkpoint", type=whole_checkpoint)
@click.argument("old")
@click.argument("new")
@as_json
def rename_cluster(checkpoint: Path, old: str, new: str, as_json: bool) -> None:
    """Gives the cluster OLD the id NEW in CHECKPOINT, in what the source and the sink keep there.

    Stop the query first, and rename the cluster in the metadata before the next start. `restore` undoes it.
    The exit code is 0, or 1 if that is refused: then nothing is changed.
    """
    with refusing():
        edits.check_complete(checkpoint)
        newest = newest_finished(checkpoint)
        read, changed = renamed(checkpoint, newest, old, new)
        edits.apply(checkpoint, f"rename-cluster {old} {new}", newest.number, read, changed)
    if as_json:
        print_json({"batch": newest.number, "old": old, "new": new, "files": sorted(changed)})
        return
    click.echo(f"after batch {newest.number}, cluster {old} is {new} in")
    for name in sorted(changed):
        click.echo(f"  {name}")
