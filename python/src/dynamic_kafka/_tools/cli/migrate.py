"""``migrate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from dynamic_kafka._tools.checkpoint.copying import check_target, copy, snapshot
from dynamic_kafka._tools.checkpoint.edits import check_complete
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import logged
from dynamic_kafka._tools.checkpoint.migration import Migration, from_plain, to_plain
from dynamic_kafka._tools.checkpoint.state_schemas import moved
from dynamic_kafka._tools.cli.arguments import (
    as_json,
    cluster_in,
    refusing,
    streams_of,
    whole_checkpoint,
    with_metadata,
)
from dynamic_kafka._tools.cli.locations import shown
from dynamic_kafka._tools.cli.output import print_json, print_table
from dynamic_kafka._tools.metadata_file.schema import did_you_mean
from dynamic_kafka.model import KafkaStream


def _here(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    """Refuses a URI, which would become a folder of that name."""
    if ":/" in str(value):
        raise click.BadParameter("the new checkpoint is written to this machine: copy it to its place afterwards")
    return value


@click.command()
@click.argument("checkpoint", type=whole_checkpoint)
@click.option(
    "--to",
    "target",
    metavar="NEW",
    type=click.Path(path_type=Path),
    callback=_here,
    required=True,
    help="The folder of the new checkpoint: it does not exist, or is empty.",
)
@click.option(
    "--cluster",
    "clusters",
    metavar="ID",
    multiple=True,
    help="The id that the metadata gives to the cluster. With several sources N=ID, for each of them.",
)
@with_metadata("The metadata file of the query: its clusters have to have the ids and the topics.")
@click.option("--to-kafka", is_flag=True, help="Back to Spark's kafka source.")
@click.option("--drop-retained", is_flag=True, help="With --to-kafka: give up the offsets of what was removed.")
@click.option("--dry-run", is_flag=True, help="Print the offsets, and write nothing.")
@as_json
def migrate(
    checkpoint: Path,
    target: Path,
    clusters: tuple[str, ...],
    metadata: Path | None,
    to_kafka: bool,
    drop_retained: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Copies CHECKPOINT, of a query with Spark's kafka source, so that the query continues with this source.

    It continues at exactly the same offsets, with its state, its batch numbers and its id. Stop the query first,
    and do not run both: CHECKPOINT is only read. No broker is asked.
    The exit code is 0, or 1 if CHECKPOINT cannot be migrated: then nothing is written.
    """
    if to_kafka and (clusters or metadata):
        raise click.UsageError("--to-kafka takes neither --cluster nor --metadata.")
    if not to_kafka and not clusters:
        raise click.UsageError("Missing option '--cluster'.")
    if drop_retained and not to_kafka:
        raise click.UsageError("--drop-retained needs --to-kafka.")
    streams = streams_of(metadata) if metadata else {}
    with refusing():
        logged(checkpoint)
        check_target(checkpoint, target)
        check_complete(checkpoint)
        before = snapshot(checkpoint)
        found = to_plain(checkpoint, drop_retained) if to_kafka else from_plain(checkpoint, clusters)
        if metadata:
            _check_metadata(metadata, streams, found)
        schemas = moved(checkpoint, before, target)
        if not dry_run:
            copy(checkpoint, before, target, found.logs, schemas, [source.source for source in found.sources])
    for note in found.notes:
        click.echo(note, err=True)
    for path in schemas.elsewhere:
        click.echo(
            f"the state has its schema in {path}, not in {checkpoint}: the query in {target} needs it too",
            err=True,
        )
    if as_json:
        print_json(_json(found, dry_run))
        return
    what = "would continue" if dry_run else "continues"
    click.echo(f"the query {what} in {target} after batch {found.batch}, at these offsets\n")
    rows = [
        (source.source, source.cluster, topic, partition, offset)
        for source in found.sources
        for topic, partitions in sorted(source.offsets.items())
        for partition, offset in sorted(partitions.items())
    ]
    print_table(
        ("source", "cluster", "topic", "partition", "offset"), rows, right=frozenset(("partition", "offset"))
    )


def _check_metadata(file: Path, streams: Mapping[str, KafkaStream], found: Migration) -> None:
    """Fails if the query would not read its topics with this file: it would begin elsewhere, without an error."""
    for source in found.sources:
        entries = cluster_in(file, streams, source.cluster)
        # A Java regular expression: what it matches is not decided here.
        if any(entry.topic_pattern for entry in entries):
            continue
        named = {topic for entry in entries for topic in (*entry.topics, *(entry.partitions or ()))}
        for topic in sorted(source.offsets.keys() - named):
            raise CheckpointError(
                f"{shown(file)}: no stream has topic '{topic}' on cluster '{source.cluster}', which source "
                f"{source.source} reads.{did_you_mean(topic, named)}"
            )


def _json(found: Migration, dry_run: bool) -> dict[str, object]:
    sources = [
        {
            "source": source.source,
            "cluster": source.cluster,
            "offsets": {
                topic: {str(partition): offset for partition, offset in sorted(partitions.items())}
                for topic, partitions in sorted(source.offsets.items())
            },
        }
        for source in found.sources
    ]
    return {"batch": found.batch, "dry_run": dry_run, "sources": sources}
