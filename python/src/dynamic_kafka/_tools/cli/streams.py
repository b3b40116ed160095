"""``streams``."""

from __future__ import annotations

from pathlib import Path

import click

from dynamic_kafka._tools.cli.arguments import as_json, metadata_file, streams_of
from dynamic_kafka._tools.cli.locations import shown
from dynamic_kafka._tools.cli.output import print_json, print_table, topics_json
from dynamic_kafka.model import ClusterMetadata


@click.command()
@click.argument("file", type=metadata_file)
@as_json
def streams(file: Path, as_json: bool) -> None:
    """Lists the streams of FILE, a metadata file, with their clusters and topics.

    The exit code is 0, or 1 if the file is not valid.
    """
    found = streams_of(file).values()
    if as_json:
        entries = [
            {
                "stream": stream.stream_id,
                "clusters": [
                    {"cluster": id, "state": entry.state, **topics_json(entry)}
                    for id, entry in stream.clusters.items()
                ],
            }
            for stream in found
        ]
        print_json({"file": shown(file), "streams": entries})
        return
    rows: list[tuple[str, ...]] = []
    for stream in found:
        rows += [(stream.stream_id, id, e.state, _topics(e)) for id, e in stream.clusters.items()]
        rows += [] if stream.clusters else [(stream.stream_id, "", "", "")]
    print_table(("stream", "cluster", "state", "topics"), rows)


def _topics(entry: ClusterMetadata) -> str:
    return f"matching {entry.topic_pattern}" if entry.topic_pattern is not None else entry.subscription[1]
