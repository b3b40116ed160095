"""The command group."""

from __future__ import annotations

import click

from dynamic_kafka._tools.cli.describe import describe
from dynamic_kafka._tools.cli.diff import diff
from dynamic_kafka._tools.cli.edit import activate, drain, move
from dynamic_kafka._tools.cli.migrate import migrate
from dynamic_kafka._tools.cli.publish import publish
from dynamic_kafka._tools.cli.rename_cluster import rename_cluster
from dynamic_kafka._tools.cli.restore import restore
from dynamic_kafka._tools.cli.schema import schema
from dynamic_kafka._tools.cli.validate import validate
from dynamic_kafka._version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dynamic-kafka")
def app() -> None:
    """Inspects and changes metadata files, and inspects checkpoints, of Dynamic Kafka for Spark.

    No command prints a secret. `drain`, `activate` and `move` change a metadata file, and `publish` writes one to
    a topic; `migrate` writes a new checkpoint; `rename-cluster`, `reset`, and `restore` change one.
    """


_METADATA = (validate, describe, diff, drain, activate, move, publish, schema)
_CHECKPOINTS = (migrate, rename_cluster, restore)
for _command in (*_METADATA, *_CHECKPOINTS):
    app.add_command(_command)
