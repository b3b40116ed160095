"""``doctor``."""

from __future__ import annotations

from pathlib import Path

import click

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.cli.arguments import as_json, checkpoint_folder, metadata_file, streams_of, with_timeout
from dynamic_kafka._tools.cli.locations import shown
from dynamic_kafka._tools.cli.output import print_json, print_table
from dynamic_kafka._tools.doctor.check import Check
from dynamic_kafka._tools.doctor.examine import clusters_of, examine
from dynamic_kafka._tools.doctor.known import known_of


@click.command()
@click.argument("file", type=metadata_file)
@click.option(
    "--checkpoint",
    type=checkpoint_folder,
    help="The checkpoint of a query: compare the cluster.id of the clusters that it has read.",
)
@with_timeout("Limit of each request, in seconds.")
@click.option(
    "--write-test",
    metavar="TOPIC",
    help="Write to TOPIC in a transaction on each cluster, and abort it: checks the rights on transactional ids.",
)
@as_json
def doctor(file: Path, checkpoint: Path | None, timeout: float, write_test: str | None, as_json: bool) -> None:
    """Checks from this machine whether queries can use the clusters of FILE, a metadata file.

    For each cluster: names, connections, TLS, log-in, versions, rights on topics and groups, cluster.id, time
    limits of transactions, and the addresses that the brokers advertise. Nothing is written without --write-test.
    The exit code is 0, or 1 if a check has failed or FILE is not valid.
    """
    streams = streams_of(file)
    try:
        import confluent_kafka  # noqa: F401

        known, lacking = known_of(checkpoint, streams) if checkpoint is not None else ({}, [])
    except ImportError:
        click.echo("no Kafka client is installed in this Python: pip install 'dynamic-kafka[cli]'", err=True)
        raise SystemExit(1) from None
    except (CheckpointError, OSError, UnicodeDecodeError) as e:
        click.echo(str(e), err=True)
        raise SystemExit(1) from None
    checks = [*lacking, *examine(clusters_of(streams), known, write_test, timeout)]
    ok = not any(check.status == "failed" for check in checks)
    if as_json:
        print_json({"file": shown(file), "ok": ok, "checks": [check.to_json() for check in checks]})
    else:
        print_table(("cluster", "check", "status", "message"), map(_row, checks))
    raise SystemExit(0 if ok else 1)


def _row(check: Check) -> tuple[str, ...]:
    message = check.message if check.remedy is None else f"{check.message}. Remedy: {check.remedy}"
    return check.cluster, check.check, check.status, message
