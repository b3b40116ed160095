"""A metadata document as a plain value, of which every part still knows its line and how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from dynamic_kafka._tools.metadata_file.place import Path, place_of
from dynamic_kafka._tools.metadata_file.problem import Problem

_TAG = "tag:yaml.org,2002:"
_SHAPES = {"str": "text", "int": "a number", "float": "a number", "bool": "true or false", "timestamp": "a date"}


class Date(str):
    """Text that YAML takes for a date: as good as text for a property, and a slip as a name."""


@dataclass(frozen=True)
class Unsupported:
    """A value of a type that the format has no use for. No schema matches it."""

    shape: str = "of a type that is not supported"


@dataclass(frozen=True)
class _Pair:
    name: str
    line: int
    node: yaml.Node


class Tree:
    """The document below a root node.

    Attributes:
        value: Mappings, lists, texts, numbers, truth values and None, as JSON has them.
        problems: Keys that are given twice, and others that no mapping can have.
    """

    def __init__(self, root: yaml.Node) -> None:
        self._root = root
        self._pairs: dict[int, list[_Pair]] = {}
        self._problems: list[tuple[Path, int, str]] = []
        self._values: dict[int, Any] = {}
        self.value = self._value(root, ())
        self.problems = [
            Problem(line, reason, place_of(path, self.value)) for path, line, reason in self._problems
        ]

    def line(self, path: Path) -> int:
        """1-based; for a value of a mapping the line of its key, for the rest of the path its last known part."""
        return self._find(path)[0]

    def text(self, path: Path) -> str:
        """A scalar as it is written: ``0123`` stays ``0123``."""
        node = self._find(path)[1]
        return node.value if isinstance(node, yaml.ScalarNode) else ""

    def shape(self, path: Path) -> str:
        """What kind of value is there, in words."""
        node = self._find(path)[1]
        if isinstance(node, yaml.MappingNode):
            return "a mapping"
        if isinstance(node, yaml.SequenceNode):
            return "a list"
        if node.tag == _TAG + "null":
            return "empty"
        return _SHAPES.get(node.tag.removeprefix(_TAG), Unsupported.shape)

    def _find(self, path: Path) -> tuple[int, yaml.Node]:
        line, node = _line(self._root), self._root
        for part in path:
            if isinstance(part, int) and isinstance(node, yaml.SequenceNode):
                node = node.value[part]
                line = _line(node)
            elif isinstance(node, yaml.MappingNode):
                found = next((pair for pair in self._pairs_of(node, path) if pair.name == part), None)
                if found is None:
                    break
                line, node = found.line, found.node
        return line, node

    def _value(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if id(node) not in self._values:
            # Stands for the node where an alias names it inside itself.
            self._values[id(node)] = Unsupported("a part of itself")
            self._values[id(node)] = self._collection(node, path)
        return self._values[id(node)]

    def _collection(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self._value(element, (*path, index)) for index, element in enumerate(node.value)]
        return {pair.name: self._value(pair.node, (*path, pair.name)) for pair in self._pairs_of(node, path)}

    def _pairs_of(self, node: yaml.Node, path: Path) -> list[_Pair]:
        if id(node) not in self._pairs:
            self._pairs[id(node)] = list(self._merged(node, path, frozenset()))
        return self._pairs[id(node)]

    def _merged(self, node: yaml.Node, path: Path, within: frozenset[int]) -> Iterator[_Pair]:
        """Own keys first, then what ``<<`` brings and the mapping has not itself, as YAML defines it."""
        if id(node) in within:
            self._problem(path, None, "it is merged into itself")
            return
        seen: dict[str, int] = {}
        merges: list[yaml.Node] = []
        for key, value in node.value:
            if key.tag == _TAG + "merge":
                merges.append(value)
            elif not isinstance(key, yaml.ScalarNode) or key.tag.removeprefix(_TAG) not in _SHAPES:
                self._problem(path, _line(key), "a key must be text")
            elif key.value in seen:
                first = seen[key.value]
                self._problem(path, _line(key), f"key '{key.value}' is given twice, first at line {first}")
            else:
                seen[key.value] = _line(key)
                yield _Pair(key.value, _line(key), value)
        for mapping in self._mappings(merges, path):
            for pair in self._merged(mapping, path, within | {id(node)}):
                if pair.name not in seen:
                    seen[pair.name] = pair.line
                    yield pair

    def _mappings(self, merges: list[yaml.Node], path: Path) -> Iterator[yaml.MappingNode]:
        for merge in merges:
            if isinstance(merge, yaml.MappingNode):
                yield merge
            elif isinstance(merge, yaml.SequenceNode):
                yield from (element for element in merge.value if isinstance(element, yaml.MappingNode))
            else:
                self._problem(path, _line(merge), "'<<' must name a mapping")

    def _problem(self, path: Path, line: int | None, reason: str) -> None:
        self._problems.append((path, self.line(path) if line is None else line, reason))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _scalar(node: yaml.ScalarNode) -> Any:
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "str":
            return text
        case "timestamp":
            return Date(text)
        case "null":
            return None
        case "bool":
            return text.lower() in ("yes", "true", "on")
        case "int" | "float" as kind:
            return _number(text, kind)
        case _:
            return Unsupported()


def _number(text: str, kind: str) -> int | float:
    """A number for the schema to compare; YAML's odder forms (octal, base 60) only have to be numbers."""
    try:
        return int(text) if kind == "int" else float(text)
    except ValueError:
        return 0 if kind == "int" else 0.5
