"""The command group."""

from __future__ import annotations

import click

from dynamic_kafka._tools.cli.migrate import migrate
from dynamic_kafka._tools.cli.rename_cluster import rename_cluster
from dynamic_kafka._tools.cli.restore import restore
from dynamic_kafka._version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dynamic-kafka")
def app() -> None:
    """Inspects checkpoints of Dynamic Kafka for Spark, and clusters.

    No command prints a secret. `migrate` writes a new checkpoint; `rename-cluster`, `reset` and `restore` change
    one.
    """


for _command in (migrate, rename_cluster, restore):
    app.add_command(_command)
