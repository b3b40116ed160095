"""Copies a checkpoint: completely, or not at all."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from dynamic_kafka._tools.checkpoint.edits import FOLDER as EDITS
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import OFFSETS, SourceId
from dynamic_kafka._tools.checkpoint.state_schemas import MovedSchemas

Snapshot = dict[str, tuple[int, int]]
"""Size and time of each file that is copied or planned from, by its path in the checkpoint."""

# Free transactional ids of the sink, which belong to the original. It writes them when the query has already
# ended, so that they may appear during a copy. The file system has a temporary file and a checksum beside each.
_SLOT = re.compile(r"dynamic-kafka-sink/\.{0,2}slot-\w+\.json.*")


def check_target(checkpoint: Path, target: Path) -> None:
    """Fails if a copy cannot be written there.

    Raises:
        CheckpointError: with the reason.
    """
    source, place = checkpoint.resolve(), target.resolve()
    if place == source:
        raise CheckpointError(f"{target} is the checkpoint itself, which is only read: choose a folder beside it")
    if source in place.parents:
        raise CheckpointError(f"{target} is in the checkpoint {checkpoint}: choose a folder beside it")
    if place in source.parents:
        raise CheckpointError(f"{target} contains the checkpoint {checkpoint}: choose a folder beside it")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise CheckpointError(f"{target} is not empty: choose a folder that does not exist")


def snapshot(checkpoint: Path) -> Snapshot:
    """What the checkpoint contains, to detect a change."""
    found: Snapshot = {}
    for folder, _, names in os.walk(checkpoint):
        for name in names:
            file = Path(folder, name)
            try:
                stat = file.stat()
            except FileNotFoundError:
                continue
            relative = file.relative_to(checkpoint).as_posix()
            if not _SLOT.fullmatch(relative):
                found[relative] = (stat.st_size, stat.st_mtime_ns)
    return found


def copy(
    checkpoint: Path,
    before: Snapshot,
    target: Path,
    logs: Mapping[int, str],
    schemas: MovedSchemas,
    without: Collection[SourceId],
) -> None:
    """Copies a checkpoint with another offset log, beside the target first, and moves it into place.

    Args:
        checkpoint: The checkpoint, which is only read.
        before: What it contained when the offset log was read.
        target: A folder that does not exist, or is empty.
        logs: The entries of the offset log, by batch.
        schemas: The metadata of operators.
        without: Sources whose files are not copied.

    Raises:
        CheckpointError: if the checkpoint changes meanwhile, or the target is not empty. Nothing is left there.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".incomplete", dir=target.parent))
    try:
        for name in before:
            if _is_copied(Path(name).parts, {str(source) for source in without}):
                file = temporary / name
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(checkpoint / name, file)
        (temporary / OFFSETS).mkdir(exist_ok=True)
        for number, text in logs.items():
            (temporary / OFFSETS / str(number)).write_bytes(text.encode())
        for name, text in schemas.files.items():
            (temporary / name).write_bytes(text.encode())
            (temporary / name).with_name(f".{Path(name).name}.crc").unlink(missing_ok=True)
        if snapshot(checkpoint) != before:
            raise _changed(checkpoint)
        temporary.chmod(checkpoint.stat().st_mode & 0o777)
        temporary.rename(target)
    except FileNotFoundError:
        raise _changed(checkpoint) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _is_copied(parts: tuple[str, ...], without: Collection[str]) -> bool:
    # Checksums of the file system would be those of the former entries.
    return parts[0] not in (OFFSETS, EDITS) and not (
        len(parts) > 2 and parts[0] == "sources" and parts[1] in without
    )


def _changed(checkpoint: Path) -> CheckpointError:
    return CheckpointError(f"{checkpoint} has changed while it was copied: stop its query first")
