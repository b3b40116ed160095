"""Edits of a checkpoint in place, each of which can be undone.

An edit is a folder ``dynamic-kafka-edits/<n>`` in the checkpoint, with the former files. It is complete before the
first file changes, and ``done`` marks that the last one has changed.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.finished import newest_finished
from dynamic_kafka._tools.checkpoint.log import OFFSETS, logged

FOLDER = "dynamic-kafka-edits"
_VERSION = 1
_RECORD = "edit.json"
_BEFORE = "before"
_AFTER = "after"
_DONE = "done"
# A start of the query deletes it, and a stop writes it again, without a batch in between.
_LATEST = "latest.json"


@dataclass(frozen=True)
class Edit:
    """An edit in the journal.

    Attributes:
        folder: Its folder.
        command: The command that made it.
        batch: The newest batch at that time.
        files: SHA-256 of the files before and after, by their path in the checkpoint. None: there was no file.
        done: Whether all files were changed.
    """

    folder: Path
    command: str
    batch: int
    files: Mapping[str, tuple[str | None, str | None]]
    done: bool


def check_complete(checkpoint: Path) -> None:
    """Fails if an edit was interrupted.

    Raises:
        CheckpointError: with what to do.
    """
    last = newest_edit(checkpoint)
    if last is not None and not last.done:
        raise CheckpointError(
            f"an edit of {checkpoint} ({last.command}) was interrupted, or its undoing: run 'restore' first"
        )


def apply(
    checkpoint: Path, command: str, batch: int, read: Mapping[str, bytes], changed: Mapping[str, bytes]
) -> None:
    """Changes files, after it has stored what they were. The offset log is changed last.

    Args:
        checkpoint: Folder of the query's checkpoint, whose newest batch is finished.
        command: The command, for the journal.
        batch: The newest batch.
        read: The files as they were when the change was planned, by their path in the checkpoint.
        changed: What they become.

    Raises:
        CheckpointError: if the checkpoint has changed since it was read.
    """
    before: dict[str, bytes | None] = {name: read[name] for name in changed}
    after: dict[str, bytes | None] = dict(changed)
    for name in changed:
        # A checksum of the file system would be that of the former content.
        checksum = str(Path(name).with_name(f".{Path(name).name}.crc"))
        if (checkpoint / checksum).is_file():
            before[checksum], after[checksum] = (checkpoint / checksum).read_bytes(), None
    journal = checkpoint / FOLDER
    last = newest_edit(checkpoint)
    record = journal / str(1 if last is None else int(last.folder.name) + 1)
    temporary = journal / f".{record.name}.incomplete"
    shutil.rmtree(temporary, ignore_errors=True)
    for name, content in before.items():
        if content is not None:
            _write(temporary / _BEFORE / name, content)
    description: dict[str, Any] = {
        "version": _VERSION,
        "command": command,
        "batch": batch,
        "by": _user(),
        "at_ms": int(time.time() * 1000),
        "files": {name: {_BEFORE: _digest(before[name]), _AFTER: _digest(after[name])} for name in before},
    }
    _write(temporary / _RECORD, json.dumps(description).encode())
    if logged(checkpoint)[-1] != batch or any(_content(checkpoint / name) != of for name, of in before.items()):
        shutil.rmtree(temporary)
        raise CheckpointError(f"{checkpoint} has changed meanwhile: stop its query first")
    temporary.rename(record)
    for name in _in_order(after):
        _put(checkpoint / name, after[name])
    _write(record / _DONE, b"")


def restore(checkpoint: Path) -> Edit:
    """Undoes the newest edit.

    Raises:
        CheckpointError: if there is none, or the query has run since, or its newest batch is not finished.
    """
    last = newest_edit(checkpoint)
    if last is None:
        raise CheckpointError(f"there is no edit of {checkpoint} that can be undone")
    newest = logged(checkpoint)[-1]
    if newest != last.batch:
        raise CheckpointError(
            f"the edit of {checkpoint} ({last.command}) cannot be undone: it was made after batch {last.batch}, "
            f"and the query has logged batch {newest} since"
        )
    newest_finished(checkpoint)
    for name, digests in last.files.items():
        now = _digest(_content(checkpoint / name))
        if now is not None and now not in digests and Path(name).name != _LATEST:
            raise CheckpointError(
                f"the edit of {checkpoint} ({last.command}) cannot be undone: {name} has changed since"
            )
    # From here on the edit counts as interrupted, until it is gone.
    (last.folder / _DONE).unlink(missing_ok=True)
    for name in reversed(_in_order(last.files)):
        _put(checkpoint / name, _content(last.folder / _BEFORE / name))
    gone = last.folder.with_name(f".{last.folder.name}.incomplete")
    shutil.rmtree(gone, ignore_errors=True)
    last.folder.rename(gone)
    shutil.rmtree(gone)
    if not any(last.folder.parent.iterdir()):
        last.folder.parent.rmdir()
    return last


def newest_edit(checkpoint: Path) -> Edit | None:
    """Returns the newest edit that was not undone.

    Raises:
        CheckpointError: if its description cannot be read.
    """
    folder = checkpoint / FOLDER
    numbers = [int(record.name) for record in folder.glob("*") if record.name.isdecimal()]
    if not numbers:
        return None
    record = folder / str(max(numbers))
    try:
        root = json.loads((record / _RECORD).read_text("utf-8"))
        if root["version"] != _VERSION:
            raise CheckpointError(
                f"{record} has version {root['version']}, but this release supports version {_VERSION}"
            )
        files = {name: (of[_BEFORE], of[_AFTER]) for name, of in root["files"].items()}
        return Edit(record, str(root["command"]), int(root["batch"]), files, (record / _DONE).exists())
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise CheckpointError(f"{record} is not an edit that this program wrote") from None


def _in_order(names: Mapping[str, object]) -> list[str]:
    """The offset log last, and checksums before their files: a file without a checksum is not checked."""
    return sorted(names, key=lambda name: (name.startswith(f"{OFFSETS}/"), not name.endswith(".crc"), name))


def _put(file: Path, content: bytes | None) -> None:
    if content is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.edited.tmp")
    _write(temporary, content)
    os.replace(temporary, file)


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
