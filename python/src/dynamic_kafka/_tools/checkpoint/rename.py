"""What changes in a checkpoint when a cluster gets another id."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from dynamic_kafka._tools.checkpoint import composite, composite_text
from dynamic_kafka._tools.checkpoint.composite_text import rename_key, written
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.finished import check_deferred
from dynamic_kafka._tools.checkpoint.log import OFFSETS, LoggedBatch, SourceId
from dynamic_kafka._tools.checkpoint.migration import check_cluster_id
from dynamic_kafka._tools.checkpoint.sources import composite_texts
from dynamic_kafka._tools.metadata_file.schema import did_you_mean

_JOURNAL = "dynamic-kafka-sink"
_DECISION = re.compile(r"\d+-\d+\.json")
_SLOT = re.compile(r"slot-\w+\.json")

Files = dict[str, bytes]
"""Contents by the path in the checkpoint."""


def renamed(checkpoint: Path, newest: LoggedBatch, old: str, new: str) -> tuple[Files, Files]:
    """Plans the change of an id, in the source's files and in the sink's.

    Args:
        checkpoint: Folder of the query's checkpoint.
        newest: The newest batch, which is finished.
        old: The id of the cluster.
        new: Its new id.

    Returns:
        The files that have the id, as they are, and as they become.

    Raises:
        CheckpointError: if the id is not known, or the new one cannot be used.
    """
    check_cluster_id(new)
    texts = composite_texts(checkpoint, newest)
    known = {id for text in texts.values() for id in _ids(text)}
    if old not in known:
        raise CheckpointError(
            f"batch {newest.number} of {checkpoint} has no cluster '{old}'.{did_you_mean(old, known)}"
        )
    if new in known:
        raise CheckpointError(f"batch {newest.number} of {checkpoint} has a cluster '{new}' already")
    read: Files = {}
    changed: Files = {}

    def change(name: str, rename: Callable[[str], str]) -> None:
        read[name] = (checkpoint / name).read_bytes()
        try:
            changed[name] = rename(read[name].decode()).encode()
        except (ValueError, LookupError, TypeError, AttributeError):
            raise CheckpointError(f"{checkpoint / name} is damaged, or of another version") from None

    for source in texts:
        check_deferred(checkpoint, source, newest)
        for name, rename in _source_files(checkpoint, source):
            change(name, lambda text, rename=rename: rename(text, old, new))  # type: ignore[misc]
    for name in _names(checkpoint, _JOURNAL):
        if _DECISION.fullmatch(Path(name).name):
            _check_closed(checkpoint, name)
            change(name, lambda text: _decision(text, old, new))
            if changed[name] != read[name]:
                mark = name.removesuffix(".json") + ".done"
                change(mark, lambda _, name=name: hashlib.sha256(changed[name]).hexdigest())  # type: ignore[misc]
        elif _SLOT.fullmatch(Path(name).name):
            change(name, lambda text: _slot(text, old, new))
    log = f"{OFFSETS}/{newest.number}"
    change(log, lambda _: newest.text({id: composite_text.renamed(text, old, new) for id, text in texts.items()}))
    differing = {name: content for name, content in changed.items() if content != read[name]}
    return {name: read[name] for name in differing}, differing


def _ids(text: str) -> set[str]:
    offset = composite.read(text)
    sections: tuple[Collection[str], ...] = (offset.clusters, offset.retained, offset.draining, offset.identities)
    return {id for section in sections for id in section}


def _source_files(checkpoint: Path, source: SourceId) -> Iterator[tuple[str, Callable[[str, str, str], str]]]:
    home = f"sources/{source}/dynamic-kafka"
    topologies = [name for name in _names(checkpoint, f"{home}/topology") if Path(name).stem.isdecimal()]
    # A start reads the newest, or an earlier one if that is damaged.
    yield from ((name, _topology) for name in topologies if name.endswith(".json"))
    yield from ((name, _deferral) for name in _names(checkpoint, f"{home}/deferred") if name.endswith(".json"))
    files = (
        ("entries.json", composite_text.renamed),
        ("initial.json", _initial),
        ("latest.json", composite_text.renamed),
        ("read.json", _records_read),
    )
    for name, rename in files:
        if (checkpoint / home / name).is_file():
            yield f"{home}/{name}", rename


def _topology(text: str, old: str, new: str) -> str:
    root = _versioned(text, 1)
    any([rename_key(root.get(section, {}), old, new) for section in ("current", "former", "removed")])
    for cluster in (*root.get("current", {}).values(), *root.get("former", {}).values()):
        if "replaces" in cluster:
            cluster["replaces"] = _new(cluster["replaces"], old, new)
    # Ids may contain dots: the name of the option is what follows the last one.
    for name in [n for n in root.get("options", {}) if n.rpartition(".")[0] == f"cluster.{old}"]:
        rename_key(root["options"], name, f"cluster.{new}.{name.rpartition('.')[2]}")
    return written(root)


def _deferral(text: str, old: str, new: str) -> str:
    root = _versioned(text, 1)
    rename_key(root["clusters"], old, new)
    return written(root)


def _records_read(text: str, old: str, new: str) -> str:
    root = _versioned(text, 1)
    for part in ("offsets", "times"):
        root[part] = json.loads(composite_text.renamed(written(root[part]), old, new))
    return written(root)


def _initial(text: str, old: str, new: str) -> str:
    root = _versioned(text, 1)
    root["unresolved"] = sorted(_new(id, old, new) for id in root.get("unresolved", []))
    rename_key(root.get("unresolvedTopics", {}), old, new)
    history = root.get("history", {})
    for section in ("offsets", "times", "topicTimes"):
        rename_key(history.get(section, {}), old, new)
    for table in history.get("streams", {}).values():
        rename_key(table.get("ends", {}), old, new)
        # Path and times, and the times of each cluster unless all rows are of one.
        any([rename_key(times, old, new) for _, _, _, *clusters in table["files"] for times in clusters])
        if "cluster" in table:
            table["cluster"] = _new(table["cluster"], old, new)
    root["offset"] = json.loads(composite_text.renamed(written(root["offset"]), old, new))
    return written(root)


def _decision(text: str, old: str, new: str) -> str:
    root = _versioned(text, 2)
    for transaction in root["transactions"]:
        transaction["cluster"] = _new(transaction["cluster"], old, new)
    rename_key(root["clusters"], old, new)
    if "leftOut" in root:
        root["leftOut"] = sorted(_new(id, old, new) for id in root["leftOut"])
    return written(root)


def _slot(text: str, old: str, new: str) -> str:
    root = json.loads(text)
    root["cluster"] = _new(root["cluster"], old, new)
    return written(root)


def _check_closed(checkpoint: Path, name: str) -> None:
    if not (checkpoint / name).with_suffix(".done").is_file():
        raise CheckpointError(
            f"{checkpoint / name}: the decision is not finished. Start the query once more, or close the decision "
            "with 'resolve'"
        )


def _versioned(text: str, version: int) -> dict[str, Any]:
    root: dict[str, Any] = json.loads(text)
    if root["version"] != version:
        raise ValueError
    return root


def _new(id: str, old: str, new: str) -> str:
    return new if id == old else id


def _names(checkpoint: Path, folder: str) -> list[str]:
    return sorted(f"{folder}/{file.name}" for file in (checkpoint / folder).glob("*") if file.is_file())
