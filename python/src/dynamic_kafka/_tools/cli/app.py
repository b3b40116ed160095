"""The command group."""

from __future__ import annotations

import click

from dynamic_kafka._tools.cli.describe import describe
from dynamic_kafka._tools.cli.diff import diff
from dynamic_kafka._tools.cli.doctor import doctor
from dynamic_kafka._tools.cli.edit import activate, drain, move
from dynamic_kafka._tools.cli.lag import lag
from dynamic_kafka._tools.cli.offsets import offsets
from dynamic_kafka._tools.cli.plan import plan
from dynamic_kafka._tools.cli.resolve import resolve
from dynamic_kafka._tools.cli.schema import schema
from dynamic_kafka._tools.cli.streams import streams
from dynamic_kafka._tools.cli.transactions import transactions
from dynamic_kafka._tools.cli.validate import validate
from dynamic_kafka._version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dynamic-kafka")
def app() -> None:
    """Inspects and changes metadata files, and inspects checkpoints, of Dynamic Kafka for Spark.

    No command prints a secret. Only `drain`, `activate`, `move` and `resolve` change something. Only
    `transactions` and `resolve` need Java and PySpark.
    """


_COMMANDS = (
    validate,
    streams,
    describe,
    diff,
    doctor,
    drain,
    activate,
    move,
    plan,
    lag,
    offsets,
    transactions,
    resolve,
    schema,
)
for _command in _COMMANDS:
    app.add_command(_command)
