"""Nodes without aliases and merge keys. The connector's ``YamlExpansion`` does the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from dynamic_kafka._tools.metadata_file.problem import Problem, ProblemError

MAX_DEPTH = 50
_MAX_CHARACTERS = 1024 * 1024
_TOO_LARGE = "aliases and merge keys expand to more than 1 MB"
_ITSELF = "an anchor contains an alias of itself"
_NO_MAPPING = "a merge key ('<<') needs a mapping or a list of mappings: put '<<' in quotes if it is a name"


def refused(line: int, reason: str) -> ProblemError:
    return ProblemError(Problem(line + 1, reason))


def broken(line: int, reason: str) -> ProblemError:
    return refused(line, f"the document is not valid YAML or JSON: {reason}")


def too_deep(line: int) -> ProblemError:
    return broken(line, f"it has more than {MAX_DEPTH} levels")


def expand(root: yaml.Node) -> yaml.Node:
    """Copies what aliases and merge keys stand for to their places.

    Merged keys come before the own keys of a mapping, which take precedence over them.

    Raises:
        ProblemError: if an anchor contains itself, a merge key stands for something else than mappings, or the
            result is too large or has too many levels.
    """
    return _Expansion().node(root, again=False)


class _Expansion:
    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._copied = 0

    def node(self, node: yaml.Node, again: bool) -> yaml.Node:
        again = self._visit(node, again)
        if isinstance(node, yaml.SequenceNode):
            with self._within(node):
                elements = [self.node(element, again) for element in node.value]
            return yaml.SequenceNode(node.tag, elements, node.start_mark, node.end_mark)
        if isinstance(node, yaml.MappingNode):
            return yaml.MappingNode(node.tag, self._pairs(node, again), node.start_mark, node.end_mark)
        return node

    def _pairs(self, node: yaml.MappingNode, again: bool) -> list[tuple[yaml.Node, yaml.Node]]:
        with self._within(node):
            merges = [pair for pair in node.value if _is_merge(pair[0])]
            if len(merges) > 1:
                first, second = (key.start_mark.line for key, _ in merges[:2])
                raise refused(second, f"key '<<' is given twice, first at line {first + 1}")
            own = [pair for pair in node.value if not _is_merge(pair[0])]
            known = {_name(key) for key, _ in own}
            merged: list[tuple[yaml.Node, yaml.Node]] = []
            for _, value in merges:
                for source, copied in self._sources(value, again):
                    pairs = [pair for pair in self._pairs(source, copied) if _name(pair[0]) not in known]
                    known.update(_name(key) for key, _ in pairs)
                    merged += pairs
            return merged + [(self.node(key, again), self.node(value, again)) for key, value in own]

    def _sources(self, value: yaml.Node, again: bool) -> Iterator[tuple[yaml.MappingNode, bool]]:
        again = self._visit(value, again)
        if isinstance(value, yaml.MappingNode):
            yield value, again
        elif isinstance(value, yaml.SequenceNode):
            for element in value.value:
                if not isinstance(element, yaml.MappingNode):
                    raise refused(element.start_mark.line, _NO_MAPPING)
                yield element, self._visit(element, again)
        else:
            raise refused(value.start_mark.line, _NO_MAPPING)

    def _visit(self, node: yaml.Node, again: bool) -> bool:
        """Returns whether this is a copy, and counts it."""
        again = again or id(node) in self._seen
        self._seen.add(id(node))
        if again:
            self._copied += 1 + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)
            if self._copied > _MAX_CHARACTERS:
                raise ProblemError(Problem(line=None, reason=_TOO_LARGE))
        return again

    @contextmanager
    def _within(self, node: yaml.Node) -> Iterator[None]:
        if id(node) in self._open:
            raise refused(node.start_mark.line, _ITSELF)
        self._open.add(id(node))
        if len(self._open) > MAX_DEPTH:
            raise too_deep(node.start_mark.line)
        yield
        self._open.remove(id(node))


def _is_merge(key: yaml.Node) -> bool:
    return isinstance(key, yaml.ScalarNode) and key.value == "<<" and key.style is None


def _name(key: yaml.Node) -> str | None:
    return key.value if isinstance(key, yaml.ScalarNode) else None
