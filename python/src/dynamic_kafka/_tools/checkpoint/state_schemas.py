"""Where operators with arbitrary state (`transformWithState`) keep the schemas of their state.

Spark names these files by their whole paths, in ``state/<operator>/_metadata/v2/<batch>``. In a copy of a
checkpoint they would lead to the former one, which is deleted sooner or later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynamic_kafka._tools.checkpoint.error import CheckpointError

_VERSION = "v2"
_SCHEME = "file:"
_STATE = "state"
_PATHS = "stateSchemaFilePaths"


@dataclass(frozen=True)
class MovedSchemas:
    """The metadata of operators in a copy.

    Attributes:
        files: Those that change, by their path in the checkpoint.
        elsewhere: Paths that are not in the checkpoint, and stay.
    """

    files: dict[str, str]
    elsewhere: tuple[str, ...]


def moved(checkpoint: Path, names: Iterable[str], target: Path) -> MovedSchemas:
    """Returns the metadata of operators in a copy.

    Args:
        checkpoint: The checkpoint.
        names: The paths of its files.
        target: The copy.

    Raises:
        CheckpointError: if Spark has not written them.
    """
    files: dict[str, str] = {}
    elsewhere: set[str] = set()
    for name in filter(_is_metadata, names):
        try:
            version, _, content = (checkpoint / name).read_text("utf-8").partition("\n")
            root = json.loads(content)
            for store in root["stateStoreInfo"]:
                store[_PATHS] = [_moved(path, checkpoint, target, elsewhere) for path in store[_PATHS]]
        except (ValueError, LookupError, TypeError, AttributeError):
            raise CheckpointError(
                f"{checkpoint / name} is not the metadata of an operator that Spark wrote"
            ) from None
        files[name] = f"{version}\n{_text(root)}"
    return MovedSchemas(files, tuple(sorted(elsewhere)))


def _is_metadata(name: str) -> bool:
    parts = Path(name).parts
    return (
        len(parts) == 5 and parts[0] == _STATE and parts[2:4] == ("_metadata", _VERSION) and parts[4].isdecimal()
    )


def _moved(path: str, checkpoint: Path, target: Path, elsewhere: set[str]) -> str:
    folder, state, rest = path.removeprefix(_SCHEME).rpartition(f"/{_STATE}/")
    if path.startswith(_SCHEME) and state and os.path.realpath(folder) == str(checkpoint.resolve()):
        return f"{_SCHEME}{target.absolute()}{state}{rest}"
    elsewhere.add(path)
    return path


def _text(root: Any) -> str:
    return json.dumps(root, separators=(",", ":"), ensure_ascii=False)
