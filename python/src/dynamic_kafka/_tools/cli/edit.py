"""``drain``, ``activate`` and ``move``."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from dynamic_kafka._tools.cli.arguments import as_json, streams_of
from dynamic_kafka._tools.cli.diff import line
from dynamic_kafka._tools.cli.locations import Location
from dynamic_kafka._tools.cli.output import print_json
from dynamic_kafka._tools.metadata_file import edits
from dynamic_kafka._tools.metadata_file.changes import changes
from dynamic_kafka._tools.metadata_file.document import read


def _file(procedure: str) -> Location:
    instead = f"CALL <catalog>.system.{procedure} changes a file where it is"
    return Location(is_folder=False, instead=instead)


_stream = click.option("--stream", metavar="ID", help="Only this stream.  [default: every stream of the cluster]")


@click.command()
@click.argument("file", type=_file("drain"))
@click.argument("cluster")
@_stream
@as_json
def drain(file: Path, cluster: str, stream: str | None, as_json: bool) -> None:
    """Sets CLUSTER to `draining` in FILE, a metadata file: it is read up to its end, then leaves.

    The whole file is validated before and after; only the lines concerned change. The exit code is 0, or 1 if that
    is refused: then nothing is written.
    """
    _edit(file, as_json, lambda text: edits.with_state(text, cluster, "draining", stream))


@click.command()
@click.argument("file", type=_file("activate"))
@click.argument("cluster")
@_stream
@as_json
def activate(file: Path, cluster: str, stream: str | None, as_json: bool) -> None:
    """Sets CLUSTER to `active` in FILE, a metadata file.

    The whole file is validated before and after; only the lines concerned change. The exit code is 0, or 1 if that
    is refused: then nothing is written.
    """
    _edit(file, as_json, lambda text: edits.with_state(text, cluster, "active", stream))


@click.command()
@click.argument("file", type=_file("move"))
@click.option("--stream", metavar="ID", required=True, help="The stream that moves.")
@click.option("--from", "old", metavar="OLD", required=True, help="The cluster that drains.")
@click.option("--to", "new", metavar="NEW", required=True, help="The cluster that is added, with the same topics.")
@as_json
def move(file: Path, stream: str, old: str, new: str, as_json: bool) -> None:
    """Drains cluster OLD of a stream in FILE, a metadata file, and adds cluster NEW with the same topics.

    NEW has to be among the `clusters` of FILE. The whole file is validated before and after; only the lines
    concerned change. The exit code is 0, or 1 if that is refused: then nothing is written.
    """
    _edit(file, as_json, lambda text: edits.moved(text, stream, old, new))


def _edit(file: Path, as_json: bool, edit: Callable[[str], str]) -> None:
    before = streams_of(file)
    # A link to the file stays one.
    target = file.resolve()
    try:
        content = target.read_bytes()
        text = content.decode("utf-8")
        edited = edit(text)
        if edited != text:
            _replace(target, content, edited.encode("utf-8"))
    except UnicodeDecodeError:
        click.echo(f"{file}: it is not UTF-8", err=True)
        raise SystemExit(1) from None
    except (edits.EditError, OSError) as e:
        click.echo(f"{file}: {e}", err=True)
        raise SystemExit(1) from None
    found = changes(before, read(edited).streams)
    if as_json:
        print_json({"file": str(file), "changes": [change.to_json() for change in found]})
    for change in [] if as_json else found:
        click.echo(line(change))
    if not found and not as_json:
        click.echo(f"{file}: nothing to change")


def _replace(file: Path, before: bytes, after: bytes) -> None:
    """Replaces a file at once, so that a query never reads half of it."""
    number, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(number, "wb") as written:
            written.write(after)
            written.flush()
            os.fsync(written.fileno())
        shutil.copymode(file, name)
        if file.read_bytes() != before:
            raise edits.EditError("it was changed meanwhile, run the command again")
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
