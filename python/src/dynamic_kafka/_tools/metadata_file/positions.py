"""Checks the texts of ``starting_offsets`` and ``stopping_offsets``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

EARLIEST = -2
LATEST = -1
_LARGEST = 2**63 - 1
LARGEST_PARTITION = 2**31 - 1
_EXPECTED = {
    0: "a timestamp in milliseconds since 1970-01-01 UTC",
    LATEST: "an offset of 0 or more or -1 (latest)",
    EARLIEST: "an offset of 0 or more, -1 (latest) or -2 (earliest)",
}
_WORDS = ("earliest", "latest", "committed")
_CLUSTER_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")


class BadPositionError(ValueError):
    """The text is not a position. The message is the reason, in the words of the connector's ``OffsetsParser``."""


def whole_number(text: str, largest: int = _LARGEST) -> int | None:
    """Returns the number in a text, or None for other texts and numbers out of range."""
    if not re.fullmatch(r"[-+]?[0-9]{1,40}", text):
        return None
    number = int(text)
    return number if -largest - 1 <= number <= largest else None


def check_start(text: str) -> None:
    """Checks the text of ``starting_offsets``.

    Raises:
        BadPositionError: if the text is not a position.
    """
    _check(text, EARLIEST)


def check_stop(text: str) -> None:
    """Checks the text of ``stopping_offsets``.

    Raises:
        BadPositionError: if the text is not a position, or is ``earliest``, with which no record would be read.
    """
    if text.strip().lower() == "earliest":
        raise BadPositionError(
            "no record would be read: use 'latest', 'committed', 'timestamp:<epoch ms>' or JSON."
        )
    _check(text, LATEST)


def _check(text: str, lowest: int) -> None:
    trimmed = text.strip()
    if trimmed.lower() in _WORDS:
        return
    times = re.match(r"timestamp:\s*(?=\{)", trimmed, re.IGNORECASE)
    if trimmed.startswith("{") or times:
        _check_json(trimmed[times.end() :] if times else trimmed, 0 if times else lowest)
        return
    timestamp = re.fullmatch(r"(?:timestamp:)?([0-9]+)", trimmed.lower())
    if timestamp is None:
        earliest = "'earliest', " if lowest == EARLIEST else ""
        raise BadPositionError(f"it is neither {earliest}'latest', 'committed', 'timestamp:<epoch ms>' nor JSON.")
    if whole_number(timestamp[1]) is None:
        raise BadPositionError(f"{timestamp[1]} is too large for a timestamp.")


def _check_json(text: str, lowest: int) -> None:
    try:
        root = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as e:
        raise BadPositionError(f"it is not valid JSON: {e.msg} (line {e.lineno}, column {e.colno}).") from None
    if not root:
        raise BadPositionError("the JSON contains no topic.")
    if all(_is_topic(node) for node in root.values()):
        _check_topics("", root, lowest)
        return
    for cluster, topics in root.items():
        if not _CLUSTER_ID.fullmatch(cluster):
            raise BadPositionError(f"'{cluster}' is not a valid cluster id.")
        if _is_topic(topics):
            raise BadPositionError(f"'{cluster}' is at the cluster level but contains offsets, like a topic.")
        _check_topics(f"cluster '{cluster}', ", topics, lowest)


def _is_topic(node: object) -> bool:
    """Whether JSON is a topic, whose values are numbers, and not a cluster, whose values are topics."""
    return not isinstance(node, Mapping) or any(not isinstance(below, Mapping) for below in node.values())


def _check_topics(where: str, topics: Mapping[str, Any], lowest: int) -> None:
    if not topics:
        raise BadPositionError(f"{where.removesuffix(', ')} has no topic.")
    for topic, partitions in topics.items():
        if not isinstance(partitions, Mapping) or not partitions:
            raise BadPositionError(
                f"{where}topic '{topic}' is not a JSON object with a number for each partition."
            )
        _check_partitions(f"{where}topic '{topic}'", partitions, lowest)


def _check_partitions(where: str, partitions: Mapping[str, Any], lowest: int) -> None:
    seen = set()
    for name, offset in partitions.items():
        partition = whole_number(name, LARGEST_PARTITION)
        if partition is None or partition < 0:
            raise BadPositionError(f"{where}: '{name}' is not a partition number.")
        if not _is_offset(offset, lowest):
            found = json.dumps(offset, separators=(",", ":"))
            raise BadPositionError(f"{where}, partition {name}: {found} is not {_EXPECTED[lowest]}.")
        # The JSON keys "0" and "00" are the same partition.
        if partition in seen:
            raise BadPositionError(f"{where} contains partition {partition} twice.")
        seen.add(partition)


def _is_offset(value: object, lowest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= _LARGEST


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise BadPositionError(f"it is not valid JSON: Duplicate field '{name}'.")
        found[name] = value
    return found


def _no_constant(name: str) -> None:
    raise BadPositionError(f"it is not valid JSON: Non-standard token '{name}'.")
