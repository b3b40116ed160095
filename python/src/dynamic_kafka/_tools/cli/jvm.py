"""What the commands that run the connector's jar share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from dynamic_kafka._tools.cli.arguments import streams_of, with_metadata, with_timeout
from dynamic_kafka._tools.cli.output import print_table
from dynamic_kafka._tools.operator import connector
from dynamic_kafka._tools.operator.error import OperatorError
from dynamic_kafka.errors import DynamicKafkaError

_Command = TypeVar("_Command", bound=Callable[..., Any])
_LOCAL = click.Path(exists=True, file_okay=False, readable=True, path_type=Path)


def _checkpoint(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """A URI, or the absolute path of a folder on this machine, as the query has it: without resolving links."""
    return value if "://" in value else str(Path(_LOCAL.convert(value, param, ctx)).absolute())


def arguments(command: _Command) -> _Command:
    """Adds the arguments that all these commands have."""
    for add in reversed(
        (
            click.argument("checkpoint", callback=_checkpoint),
            with_metadata(
                "The metadata file, with the addresses of the clusters and what is needed to log in.",
                required=True,
            ),
            with_timeout("Limit for a request to a cluster, in seconds."),
            click.option(
                "--jars", help="The connector's jar and those it needs, or their folder, separated by commas."
            ),
        )
    ):
        command = add(command)
    return command


def run(
    name: str, checkpoint: str, metadata: Path, timeout: float, jars: str | None, more: Sequence[str] = ()
) -> connector.Reply:
    """Runs a command of the connector's tool, and prints its reasons. Exits with 1 if there is no result."""
    streams_of(metadata)
    limit = str(max(1, round(timeout * 1000)))
    try:
        reply = connector.ask([name, checkpoint, str(metadata.absolute()), limit, *more], jars)
    except (OperatorError, DynamicKafkaError, OSError) as e:
        click.echo(str(e), err=True)
        raise SystemExit(1) from None
    for reason in reply.reasons:
        click.echo(reason, err=True)
    if reply.result is None:
        raise SystemExit(reply.exit_code or 1)
    return reply


def print_transactions(transactions: Sequence[dict[str, Any]]) -> None:
    """Prints a table."""
    columns = ("cluster", "transactional_id", "state")
    print_table(columns, [[one[column] for column in columns] for one in transactions])
