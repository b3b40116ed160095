"""``plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import newest_batch
from dynamic_kafka._tools.checkpoint.sources import composite_texts
from dynamic_kafka._tools.cli.arguments import as_json, checkpoint_folder, metadata_file, streams_of, with_timeout
from dynamic_kafka._tools.cli.output import count, print_json
from dynamic_kafka._tools.plan.error import PlanError
from dynamic_kafka._tools.plan.plan import Plan, make


@click.command()
@click.argument("checkpoint", type=checkpoint_folder)
@click.argument("file", type=metadata_file)
@with_timeout("Limit of each request, in seconds.")
@as_json
def plan(checkpoint: Path, file: Path, timeout: float, as_json: bool) -> None:
    """Prints what the query of CHECKPOINT, a folder or a URI, would do with FILE, its next metadata file.

    What enters where, what drains, what leaves and with how many unread records, which rights are missing, and
    what the next batch would read. Nothing is changed.
    The exit code is 0 if nothing is lost, 2 if unread records are, and 1 if that is not known.
    """
    streams = streams_of(file)
    try:
        import confluent_kafka  # noqa: F401

        batch = newest_batch(checkpoint)
        found = make(checkpoint, composite_texts(checkpoint, batch), batch.timestamp_ms or 0, streams, timeout)
    except ImportError:
        click.echo("no Kafka client is installed in this Python: pip install 'dynamic-kafka[cli]'", err=True)
        raise SystemExit(1) from None
    except (CheckpointError, PlanError, OSError, UnicodeDecodeError) as e:
        click.echo(str(e), err=True)
        raise SystemExit(1) from None
    if as_json:
        print_json(_json(batch.number, found))
    else:
        _print(batch.number, found)
    for text in found.unknown:
        click.echo(text, err=True)
    raise SystemExit(1 if found.unknown else 2 if found.lost_records else 0)


def _json(batch: int, found: Plan) -> dict[str, Any]:
    return {
        "batch": batch,
        "enters": found.enters,
        "drains": found.drains,
        "leaves": found.leaves,
        "lost": {"records": found.lost_records, "bytes": found.lost_bytes, "bytes_estimated": True},
        "rights": found.rights,
        "next_batch": {"records": sum(found.next_batch.values()), "clusters": found.next_batch},
        "assumed": found.assumed,
    }


def _print(batch: int, found: Plan) -> None:
    click.echo(f"after batch {batch}")
    for one in found.enters:
        click.echo(f"+ {_place(one)} enters at {one['position']} ({one['by']})")
    for one in found.drains:
        click.echo(f"~ {_place(one)} drains from {one['position']} to {one['target']}")
    for one in found.leaves:
        records = "unknown" if one["records"] is None else count(one["records"], "unread record")
        click.echo(f"- {_place(one)} leaves at {one['position']}: {records}")
    for right in found.rights:
        click.echo(f"! cluster {right['cluster']}, topic {right['topic']}: no right to {right['right']}")
    if found.lost_records:
        click.echo(f"lost: {count(found.lost_records, 'record')}, about {found.lost_bytes} bytes")
    by_cluster = ", ".join(f"{id} {records}" for id, records in found.next_batch.items())
    total = count(sum(found.next_batch.values()), "record")
    click.echo(f"next batch: {total}" + (f" ({by_cluster})" if by_cluster else ""))
    for text in found.assumed:
        click.echo(f"assumed: {text}")


def _place(one: dict[str, Any]) -> str:
    return f"cluster {one['cluster']}, topic {one['topic']}, partition {one['partition']}"
