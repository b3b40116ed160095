"""Reads the packed form of large composite offsets, which ``docs/semantics.md`` describes."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from dynamic_kafka._tools.checkpoint.error import CheckpointError

_LARGEST_BYTES = 9


def unpack(text: object) -> dict[str, Any]:
    """Returns the offset in the form that small offsets have.

    Raises:
        CheckpointError: if the text is damaged.
    """
    if not isinstance(text, str):
        raise _damaged("is not text")
    try:
        data = zlib.decompress(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, zlib.error):
        raise _damaged("is damaged") from None
    numbers = _Numbers(data)
    document = numbers.take(numbers.next())
    try:
        root = json.loads(document)
    except ValueError:
        raise _damaged("contains no JSON") from None
    if not isinstance(root, dict):
        raise _damaged("contains no JSON object")
    # The offsets are in the order of the document.
    for section in ("clusters", "entered"):
        _expand_each(root.get(section), numbers, section)
    for topics in _values(root.get("retained")):
        _expand_offsets(topics.get("topics"), numbers, "retained")
    _expand_each(root.get("draining"), numbers, "draining")
    for topics in _values(root.get("ends")):
        _expand_offsets(topics, numbers, "ends")
    earlier = root.get("earlier", [])
    for entries in earlier if isinstance(earlier, list) else []:
        _expand_each(entries.get("entered") if isinstance(entries, dict) else None, numbers, "earlier")
    if not numbers.at_end:
        raise _damaged("has more offsets than partitions")
    return root


class _Numbers:
    """Varints: 7 bits a byte, lowest first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        return self._at == len(self._data)

    def take(self, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise _damaged("is cut off")
        self._at += size
        return self._data[self._at - size : self._at]

    def next(self) -> int:
        value = 0
        for index, byte in enumerate(self._data[self._at : self._at + _LARGEST_BYTES]):
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                self._at += index + 1
                return value
        raise _damaged("is cut off")

    def partitions(self, node: Any, where: str) -> dict[str, int]:
        """The offsets of a topic: of the partitions 0 to n - 1 for a number, of those of an array otherwise."""
        if type(node) is int and 0 <= node <= len(self._data):
            node = list(range(node))
        if not isinstance(node, list) or not all(type(p) is int for p in node):
            raise _damaged(f"has a topic without partitions in {where}")
        return {str(partition): self.next() for partition in node}


def _expand_each(clusters: Any, numbers: _Numbers, where: str) -> None:
    for topics in _values(clusters):
        for topic, partitions in topics.items():
            topics[topic] = numbers.partitions(partitions, where)


def _expand_offsets(topics: Any, numbers: _Numbers, where: str) -> None:
    for topic in _values(topics):
        topic["offsets"] = numbers.partitions(topic.get("offsets"), where)


def _values(node: Any) -> list[dict[str, Any]]:
    if node is None:
        return []
    if not isinstance(node, dict) or not all(isinstance(value, dict) for value in node.values()):
        raise _damaged("has a section that is not a JSON object")
    return list(node.values())


def _damaged(reason: str) -> CheckpointError:
    return CheckpointError(f"An offset in the checkpoint cannot be read: section 'packed' {reason}")
