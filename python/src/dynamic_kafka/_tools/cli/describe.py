"""``describe``."""

from __future__ import annotations

from pathlib import Path

import click

from dynamic_kafka._tools.cli.arguments import as_json, metadata_file, streams_of
from dynamic_kafka._tools.cli.locations import shown
from dynamic_kafka._tools.cli.output import print_json, topics_json
from dynamic_kafka._tools.cli.redaction import shown_all
from dynamic_kafka._tools.metadata_file.schema import did_you_mean
from dynamic_kafka.model import ClusterMetadata


@click.command()
@click.argument("file", type=metadata_file)
@click.argument("stream")
@as_json
def describe(file: Path, stream: str, as_json: bool) -> None:
    """Prints clusters, topics, offsets and properties of STREAM in FILE, a metadata file.

    Values of properties are printed only if they are known to be harmless. The exit code is 0, or 1 if the file is
    not valid or does not have the stream.
    """
    known = streams_of(file)
    if stream not in known:
        click.echo(f"{shown(file)}: there is no stream '{stream}'.{did_you_mean(stream, known)}", err=True)
        raise SystemExit(1)
    clusters = known[stream].clusters
    if as_json:
        described = {id: _json(entry) for id, entry in clusters.items()}
        print_json({"file": shown(file), "stream": stream, "clusters": described})
        return
    click.echo(f"stream {stream}")
    for id, entry in clusters.items():
        click.echo(f"\ncluster {id}")
        lines = [("state", entry.state), ("write", None if entry.write else "false")]
        lines += [entry.subscription, *_offsets(entry).items()]
        lines += shown_all(entry.properties).items()
        width = max(len(name) for name, _ in lines)
        for name, value in lines:
            if value is not None:
                click.echo(f"  {name.ljust(width)}  {value}")


def _offsets(entry: ClusterMetadata) -> dict[str, str | None]:
    given = {"starting_offsets": entry.starting_offsets, "stopping_offsets": entry.stopping_offsets}
    return {name: None if value is None else str(value) for name, value in given.items()}


def _json(entry: ClusterMetadata) -> dict[str, object]:
    write = {} if entry.write else {"write": False}
    properties = shown_all(entry.properties)
    return {"state": entry.state, **write, **topics_json(entry), **_offsets(entry), "properties": properties}
