"""A metadata document as a plain value, with the line and the text of each of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from dynamic_kafka._tools.metadata_file.place import Path, place_of
from dynamic_kafka._tools.metadata_file.problem import Problem
from dynamic_kafka._tools.metadata_file.yaml_text import AMBIGUOUS, TAG

_SHAPES = {"str": "text", "int": "a number", "float": "a number", "bool": "true or false", "null": "empty"}


class Ambiguous:
    """An unquoted scalar that YAML 1.1 and YAML 1.2 read differently. It matches no type of the schema."""

    REASON = (
        "YAML 1.1 and YAML 1.2 differ about this unquoted value: "
        "put it in quotes, or write true, false or a decimal number"
    )


@dataclass(frozen=True)
class _Entry:
    line: int
    node: yaml.Node


class Tree:
    """The document below a root node.

    Attributes:
        value: The document as dicts, lists, str, int, float, bool, None and ``Ambiguous``.
        problems: Invalid and duplicate keys.
    """

    def __init__(self, root: yaml.Node) -> None:
        self._root = root
        self._mappings: dict[yaml.Node, dict[str, _Entry]] = {}
        self._problems: list[tuple[Path, int, str]] = []
        self.value = self._value(root, ())
        self.problems = [
            Problem(line, reason, place_of(path, self.value)) for path, line, reason in self._problems
        ]

    def line(self, path: Path) -> int:
        """The 1-based line of a path, or of the part of it that exists; of a mapping's value, that of the key."""
        return self._find(path).line

    def text(self, path: Path) -> str:
        """A scalar as it is written, without its quotes; empty for a mapping and a list."""
        node = self._find(path).node
        return node.value if isinstance(node, yaml.ScalarNode) else ""

    def shape(self, path: Path) -> str:
        """The kind of the value at a path, as error texts name it."""
        node = self._find(path).node
        if isinstance(node, yaml.ScalarNode):
            return _SHAPES[node.tag.removeprefix(TAG)]
        return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"

    def _find(self, path: Path) -> _Entry:
        found = _Entry(_line(self._root), self._root)
        for part in path:
            node = found.node
            if isinstance(part, int) and isinstance(node, yaml.SequenceNode):
                found = _Entry(_line(node.value[part]), node.value[part])
            elif part in (entries := self._mappings.get(node, {})):
                found = entries[str(part)]
            else:
                break
        return found

    def _value(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self._value(element, (*path, index)) for index, element in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            entries = self._entries(node, path)
            return {name: self._value(entry.node, (*path, name)) for name, entry in entries.items()}
        return _scalar(node)

    def _entries(self, node: yaml.MappingNode, path: Path) -> dict[str, _Entry]:
        entries = self._mappings[node] = {}
        for key, value in node.value:
            line = _line(key)
            if not isinstance(key, yaml.ScalarNode) or key.tag == TAG + "null":
                self._problems.append((path, line, "a key must be text"))
            elif key.value in entries:
                first = entries[key.value].line
                self._problems.append((path, line, f"key '{key.value}' is given twice, first at line {first}"))
            else:
                entries[key.value] = _Entry(line, value)
        return entries


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _scalar(node: yaml.Node) -> Any:
    if node.tag == AMBIGUOUS:
        return Ambiguous()
    match node.tag.removeprefix(TAG):
        case "null":
            return None
        case "bool":
            return node.value == "true"
        case "int" if len(node.value) < 40:
            return int(node.value)
        case "int" | "float":
            return float(node.value)
        case _:
            return node.value
