"""``resolve``."""

from __future__ import annotations

import getpass
from pathlib import Path

import click

from dynamic_kafka._tools.cli.arguments import as_json
from dynamic_kafka._tools.cli.jvm import arguments, print_transactions, run
from dynamic_kafka._tools.cli.output import print_json

_AFTER = {
    "accept-loss": "is closed: what is lost stays lost",
    "rewrite": "is not decided any more: the next start of the query writes it again",
    "abandon-cluster": "is closed, without what is missing on cluster {cluster}",
}


@click.command()
@arguments
@click.option("--batch", type=click.IntRange(min=0), required=True, help="The batch whose decision is open.")
@click.option("--accept-loss", is_flag=True, help="Commit what is open; what is lost stays lost.")
@click.option("--rewrite", is_flag=True, help="Abort what is open; the next start writes the batch again.")
@click.option("--abandon-cluster", metavar="ID", help="Give up the part on this cluster, and commit the others.")
@as_json
def resolve(
    checkpoint: str,
    metadata: Path,
    timeout: float,
    jars: str | None,
    batch: int,
    accept_loss: bool,
    rewrite: bool,
    abandon_cluster: str | None,
    as_json: bool,
) -> None:
    """Closes a decision that the query cannot complete, in exactly one of three ways.

    It is refused while a run of the query works on the decision; keep the query from being restarted meanwhile.
    The journal in CHECKPOINT notes who has chosen what, and when.
    The exit code is 0 if the decision is closed, and 1 if that is refused: then it stays open.
    """
    chosen = [["accept-loss"]] if accept_loss else []
    chosen += [["rewrite"]] if rewrite else []
    chosen += [["abandon-cluster", abandon_cluster]] if abandon_cluster is not None else []
    if len(chosen) != 1:
        raise click.UsageError("Use exactly one of --accept-loss, --rewrite and --abandon-cluster ID.")
    (how,) = chosen
    reply = run("resolve", checkpoint, metadata, timeout, jars, [_user(), str(batch), *how])
    result = reply.result or {}
    if as_json:
        print_json(result)
    else:
        click.echo(f"batch {batch} {_AFTER[how[0]].format(cluster=abandon_cluster)}\n")
        print_transactions(result["transactions"])
    raise SystemExit(reply.exit_code)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
