"""Which positions of a cluster a query has after a reset."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynamic_kafka._tools.checkpoint import composite, composite_text
from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.ends import EARLIEST, LATEST, Ends, Partition
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.finished import check_deferred
from dynamic_kafka._tools.checkpoint.log import LoggedBatch, SourceId
from dynamic_kafka._tools.checkpoint.sources import composite_texts
from dynamic_kafka._tools.metadata_file.schema import did_you_mean

Form = int | Positions
"""Earliest, latest or a time for all partitions; or offsets, where -2 and -1 are earliest and latest."""

Ask = Callable[[Mapping[Partition, int]], Ends]
"""Requests offsets of the cluster."""

_WORDS = {"earliest": EARLIEST, "latest": LATEST}


@dataclass(frozen=True)
class Change:
    """A position that changes."""

    source: SourceId
    cluster: str
    topic: str
    partition: int
    old: int
    new: int


def parse(text: str) -> Form:
    """Reads a form.

    Raises:
        ValueError: if it is none.
    """
    if text in _WORDS:
        return _WORDS[text]
    if time := re.fullmatch(r"timestamp:(\d{1,18})", text):
        return int(time[1])
    root = json.loads(text)
    if not isinstance(root, dict) or not root:
        raise ValueError
    return {
        topic: {_partition(p): _offset(at) for p, at in partitions.items()} for topic, partitions in root.items()
    }


def planned(checkpoint: Path, newest: LoggedBatch, cluster: str, form: Form, ask: Ask) -> tuple[list[Change], str]:
    """Plans a reset, for which the brokers are asked.

    Args:
        checkpoint: Folder of the query's checkpoint.
        newest: The newest batch, which is finished.
        cluster: Id of the cluster.
        form: The new positions.
        ask: Requests offsets of the cluster.

    Returns:
        What changes, and the new entry of the offset log.

    Raises:
        CheckpointError: if the cluster or a partition is not known, or the brokers do not have the offsets.
    """
    where = f"batch {newest.number} of {checkpoint}"
    texts = composite_texts(checkpoint, newest)
    offsets = {source: composite.read(text) for source, text in texts.items()}
    reading = {source: offset for source, offset in offsets.items() if offset.clusters.get(cluster)}
    if not reading:
        known = {id for offset in offsets.values() for id in offset.clusters}
        retained = any(cluster in offset.retained for offset in offsets.values())
        why = " It is retained, so it is not read." if retained else did_you_mean(cluster, known)
        raise CheckpointError(f"{where} reads no cluster '{cluster}'.{why}")
    _check_known(form, [offset.clusters[cluster] for offset in reading.values()], cluster, where)
    changes, changed = [], {}
    for source, offset in reading.items():
        check_deferred(checkpoint, source, newest)
        now = offset.clusters[cluster]
        asked = {(t, p): at for t, of in _targets(form, now).items() for p, at in of.items()}
        found = _resolved(asked, form, ask, offset.draining.get(cluster, {}))
        changes += [
            Change(source, cluster, topic, partition, now[topic][partition], at)
            for (topic, partition), at in sorted(found.items())
            if at != now[topic][partition]
        ]
        moved: Positions = {}
        for change in changes:
            if change.source == source:
                moved.setdefault(change.topic, {})[change.partition] = change.new
        if moved:
            changed[source] = composite_text.moved(texts[source], cluster, moved)
    return changes, newest.text(changed)


def _check_known(form: Form, read: list[Positions], cluster: str, where: str) -> None:
    for topic, partitions in {} if isinstance(form, int) else form.items():
        topics = {name for positions in read for name in positions}
        if topic not in topics:
            raise CheckpointError(
                f"{where} reads no topic '{topic}' of cluster {cluster}.{did_you_mean(topic, topics)}"
            )
        for partition in partitions:
            if not any(partition in positions.get(topic, {}) for positions in read):
                raise CheckpointError(
                    f"{where} reads no partition {partition} of topic '{topic}', cluster {cluster}"
                )


def _targets(form: Form, now: Positions) -> Positions:
    if isinstance(form, int):
        return {topic: dict.fromkeys(partitions, form) for topic, partitions in now.items()}
    return {
        topic: {p: at for p, at in partitions.items() if p in now[topic]}
        for topic, partitions in form.items()
        if topic in now
    }


def _resolved(asked: Mapping[Partition, int], form: Form, ask: Ask, drains: Positions) -> dict[Partition, int]:
    if not asked:
        return {}
    first, last = (_answer(ask, dict.fromkeys(asked, at)) for at in (EARLIEST, LATEST))
    found = {}
    times = _answer(ask, asked) if isinstance(form, int) and form >= 0 else {}
    for at, offset in asked.items():
        if at in times:
            offset = times[at] if times[at] >= 0 else last[at]
        elif offset < 0:
            offset = first[at] if offset == EARLIEST else last[at]
        if not first[at] <= offset <= last[at]:
            topic, partition = at
            raise CheckpointError(
                f"topic '{topic}', partition {partition} has the offsets {first[at]} to {last[at]}, not {offset}"
            )
        # A topic that drains is read up to its target.
        found[at] = min(offset, drains.get(at[0], {}).get(at[1], offset))
    return found


def _answer(ask: Ask, asked: Mapping[Partition, int]) -> Mapping[Partition, int]:
    answer = ask(asked)
    if answer.missing is not None:
        raise CheckpointError(f"the offsets are not known: {answer.missing}")
    return answer.by_partition


def _partition(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise ValueError
    return int(text)


def _offset(value: Any) -> int:
    if type(value) is not int or not EARLIEST <= value < 2**63:
        raise ValueError
    return value
