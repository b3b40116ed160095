"""``reset``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from dynamic_kafka._tools.checkpoint import edits
from dynamic_kafka._tools.checkpoint import reset as resetting
from dynamic_kafka._tools.checkpoint.ends import Ends, Partition
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.finished import newest_finished
from dynamic_kafka._tools.checkpoint.log import OFFSETS
from dynamic_kafka._tools.cli.arguments import (
    as_json,
    cluster_in,
    refusing,
    streams_of,
    with_metadata,
    with_timeout,
)
from dynamic_kafka._tools.cli.locations import Location
from dynamic_kafka._tools.cli.output import print_json, print_table
from dynamic_kafka._tools.kafka.error import KafkaSettingsError
from dynamic_kafka._tools.kafka.settings import librdkafka

_CHECKPOINT = Location(is_folder=True, instead="CALL <catalog>.system.reset changes it where it is")
_COLUMNS = ("source", "cluster", "topic", "partition", "from", "to")


class _Form(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    name = "form"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, resetting.Form]:
        try:
            return value, resetting.parse(value)
        except (ValueError, AttributeError, RecursionError):
            self.fail(
                f"{value!r} is neither 'earliest', 'latest', 'timestamp:<ms>' nor JSON such as "
                '\'{"orders": {"0": 5}}\'.',
                param,
                ctx,
            )


@click.command()
@click.argument("checkpoint", type=_CHECKPOINT)
@click.option("--cluster", metavar="ID", required=True, help="The cluster whose positions change.")
@click.option(
    "--to",
    "form",
    metavar="FORM",
    type=_Form(),
    required=True,
    help="`earliest`, `latest`, `timestamp:<ms>`, or offsets as JSON: {topic: {partition: offset}}.",
)
@with_metadata("The metadata file, with the address of the cluster and what is needed to log in.", required=True)
@with_timeout("Limit for a request to the cluster, in seconds.")
@as_json
def reset(
    checkpoint: Path, cluster: str, form: tuple[str, resetting.Form], metadata: Path, timeout: float, as_json: bool
) -> None:
    """Sets the positions of a query in one cluster, where it continues at its next start.

    The brokers are asked for the offsets, which are written as numbers. Stop the query first. `restore` undoes it.
    The exit code is 0, or 1 if that is refused: then nothing is changed.
    """
    streams = streams_of(metadata)
    with refusing():
        properties = cluster_in(metadata, streams, cluster)[-1].properties
        edits.check_complete(checkpoint)
        newest = newest_finished(checkpoint)
        try:
            client = librdkafka(properties)
        except KafkaSettingsError as e:
            raise CheckpointError(str(e)) from None

        def ask(asked: Mapping[Partition, int]) -> Ends:
            from dynamic_kafka._tools.checkpoint import kafka

            return kafka.offsets_at(properties, client, asked, timeout)

        try:
            changes, text = resetting.planned(checkpoint, newest, cluster, form[1], ask)
        except ImportError:
            raise CheckpointError(
                "no Kafka client is installed in this Python: pip install 'dynamic-kafka[cli]'"
            ) from None
        if changes:
            name = f"{OFFSETS}/{newest.number}"
            command = f"reset --cluster {cluster} --to {form[0]}"
            edits.apply(
                checkpoint,
                command,
                newest.number,
                {name: (checkpoint / name).read_bytes()},
                {name: text.encode()},
            )
    rows = [(c.source, c.cluster, c.topic, c.partition, c.old, c.new) for c in changes]
    if as_json:
        print_json({"changes": [dict(zip(_COLUMNS, row, strict=True)) for row in rows]})
    elif not rows:
        click.echo("nothing to change")
    else:
        click.echo(f"after batch {newest.number}, the query continues at\n")
        print_table(_COLUMNS, rows, right=frozenset(("partition", "from", "to")))
