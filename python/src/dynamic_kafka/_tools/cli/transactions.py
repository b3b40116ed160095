"""``transactions``."""

from __future__ import annotations

from pathlib import Path

import click

from dynamic_kafka._tools.cli.arguments import as_json
from dynamic_kafka._tools.cli.jvm import arguments, print_transactions, run
from dynamic_kafka._tools.cli.output import print_json


@click.command()
@arguments
@as_json
def transactions(checkpoint: str, metadata: Path, timeout: float, jars: str | None, as_json: bool) -> None:
    """Prints the decisions of a query that writes with exactly-once, as far as they are not finished.

    CHECKPOINT is that of the query, or the folder of a job's journal: a folder on this machine, or a URI. For each
    transaction of an open decision, its cluster is asked what has become of it. Nothing is changed. It runs the
    connector's jar, and needs Java and PySpark.
    The exit code is 0 if no decision is open, and 1 otherwise.
    """
    reply = run("transactions", checkpoint, metadata, timeout, jars)
    result = reply.result or {}
    if as_json:
        print_json(result)
    elif not result["decisions"]:
        click.echo("no decision is open")
    else:
        for decision in result["decisions"]:
            click.echo(
                f"batch {decision['batch']}, decided by generation {decision['generation']}, not finished\n"
            )
            print_transactions(decision["transactions"])
    raise SystemExit(reply.exit_code)
