"""``diff``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from dynamic_kafka._tools.cli.arguments import as_json, metadata_file, streams_of
from dynamic_kafka._tools.cli.output import print_json
from dynamic_kafka._tools.cli.redaction import shown
from dynamic_kafka._tools.metadata_file.changes import Change, changes

_INVALID = 2
_KEYS = ("offsets", "pattern")
_SIGNS = {"enters": "+", "leaves": "-"}


@click.command()
@click.argument("old", type=metadata_file)
@click.argument("new", type=metadata_file)
@as_json
def diff(old: Path, new: Path, as_json: bool) -> None:
    """Prints the changes that queries would see if the metadata file OLD were replaced by NEW.

    The exit code is 0 if there are no changes, 1 if there are changes, and 2 if a file is not valid.
    """
    found = [_redacted(change) for change in changes(streams_of(old, _INVALID), streams_of(new, _INVALID))]
    if as_json:
        print_json({"same": not found, "changes": [change.to_json() for change in found]})
    else:
        for change in found:
            click.echo(line(change))
    raise SystemExit(1 if found else 0)


def _redacted(change: Change) -> Change:
    if change.what != "property" or change.name is None:
        return change
    name = change.name
    old, new = (None if value is None else shown(name, value) for value in (change.old, change.new))
    return replace(change, old=old, new=new)


def line(change: Change) -> str:
    """Returns one change as text."""
    place = [
        f"{kind} {name}"
        for kind, name in (("stream", change.stream), ("cluster", change.cluster))
        if name is not None
    ]
    if change.name is not None:
        place.append(change.name if change.what in _KEYS else f"{change.what} {change.name}")
    text = f"{_SIGNS.get(change.how, '~')} {', '.join(place)} {change.how}"
    if change.what not in ("property", "partitions", *_KEYS):
        return text
    values = [("none" if value is None else value) for value in (change.old, change.new)]
    return f"{text}: {' -> '.join(values if change.how == 'changes' else filter(None, (change.old, change.new)))}"
