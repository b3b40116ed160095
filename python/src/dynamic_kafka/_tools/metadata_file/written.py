"""Where the parts of a metadata document stand in its text, and what is written to change them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import yaml

from dynamic_kafka._tools.metadata_file.yaml_text import TAG, compose, is_json, needs_quotes, nodes_as_written

_ALIAS = re.compile(r"\s*:\s*(?:#[^\r\n]*[\r\n]\s*)*(\*[^\s,\[\]{}]+)")
_ANCHOR = re.compile(r"&[^\s,\[\]{}]+\s*")
_COMMENTS = re.compile(r"(?:\s*\n\s*(?:#[^\r\n]*)?)*\s*\Z")
# Text that needs no quotes anywhere, not even in a flow mapping.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Replacement:
    """Text to write instead of that between two places."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Pair:
    """An entry of a mapping.

    Attributes:
        key: The key.
        value: The value; of an alias, the node of its anchor.
        alias: Where the alias stands, if the value is one.
    """

    key: yaml.ScalarNode
    value: yaml.Node
    alias: tuple[int, int] | None


class Written:
    """The text of a valid document."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._json = is_json(text)
        self._ends_of_line = "\r\n" if "\r\n" in text else "\n"
        self._root = nodes_as_written(text)

    def entries(self, stream: str) -> dict[str, Pair]:
        """The entries of a stream, by cluster id, that are written at the stream itself."""
        node: yaml.Node = self._root
        for name in ("streams", stream, "clusters"):
            found = self.pairs(node).get(name)
            if found is None or found.alias is not None:
                return {}
            node = found.value
        return self.pairs(node)

    def pairs(self, node: yaml.Node) -> dict[str, Pair]:
        """The entries of a mapping, without those that are merged into it."""
        return {pair.key.value: pair for pair in self._all_pairs(node) if not _is_merge(pair.key)}

    def with_state(self, entry: Pair, state: str) -> Replacement:
        """Sets the state of a cluster of a stream."""
        if entry.alias is not None:
            start, end = entry.alias
            return Replacement(start, end, f"{{<<: {self._text[start:end]}, state: {state}}}")
        assert isinstance(entry.value, yaml.MappingNode)
        own = self.pairs(entry.value).get("state")
        if own is not None:
            return self._scalar(own, state)
        return self._added(entry.value, [*self._all_pairs(entry.value)], "state", self._word(state))

    def with_entry(self, stream: str, old: str, new: str, keys: Collection[str]) -> Replacement:
        """Adds an entry after the one of another cluster, with these keys of it."""
        parent = _at(self._root, "streams", stream, "clusters")
        source = _at(compose(self._text), "streams", stream, "clusters", old)
        taken = [(key, value) for key, value in source.value if key.value in keys]
        pairs = [*self._all_pairs(parent)]
        at = next(index for index, pair in enumerate(pairs) if pair.key.value == old)
        entry = self._flow(yaml.MappingNode(TAG + "map", taken))
        return self._added(parent, pairs[: at + 1], new, entry, after=True)

    def _all_pairs(self, node: yaml.Node) -> Iterator[Pair]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                alias = _ALIAS.match(self._text, key.end_mark.index)
                yield Pair(key, value, alias.span(1) if alias else None)

    def _scalar(self, pair: Pair, word: str) -> Replacement:
        if pair.alias is not None:
            return Replacement(*pair.alias, word)
        assert isinstance(pair.value, yaml.ScalarNode)
        start, end = pair.value.start_mark.index, pair.value.end_mark.index
        anchor = _ANCHOR.match(self._text, start)
        quote = pair.value.style if pair.value.style in ("'", '"') else ""
        return Replacement(anchor.end() if anchor else start, end, f"{quote}{word}{quote}")

    def _added(
        self, mapping: yaml.MappingNode, pairs: list[Pair], name: str, value: str, after: bool = False
    ) -> Replacement:
        """Adds an entry to a mapping after one of these, preferably the last one.

        Args:
            mapping: The mapping.
            pairs: Its entries, or the first of them.
            name: The key to add.
            value: The text of the value.
            after: Whether it has to follow the last one, however many lines that has.
        """
        written = f"{self._word(name)}: {value}"
        if mapping.flow_style:
            end = self._end(pairs[-1])
            first = pairs[-1].key.start_mark
            on_its_own = self._text[first.index - first.column : first.index].isspace()
            if on_its_own and not self._rest_of_line(end).strip(", \t"):
                return Replacement(end, end, f",{self._ends_of_line}{' ' * first.column}{written}")
            return Replacement(end, end, f", {written}")
        line = " " * pairs[0].key.start_mark.column + written
        for pair in [pairs[-1]] if after else reversed(pairs):
            end = self._end(pair)
            if after or self._line(end) == pair.key.start_mark.line:
                return self._line_after(end, line)
        start = pairs[0].key.start_mark.index - pairs[0].key.start_mark.column
        return Replacement(start, start, line + self._ends_of_line)

    def _line_after(self, at: int, line: str) -> Replacement:
        end = at + len(self._rest_of_line(at))
        if end == len(self._text):
            return Replacement(end, end, self._ends_of_line + line)
        end += len(self._ends_of_line) if self._text.startswith(self._ends_of_line, end) else 1
        return Replacement(end, end, line + self._ends_of_line)

    def _end(self, pair: Pair) -> int:
        return pair.alias[1] if pair.alias is not None else self._end_of(pair.value)

    def _end_of(self, node: yaml.Node) -> int:
        """Where the text of a node ends; the mark of a block is at what follows it."""
        if isinstance(node, yaml.MappingNode) and not node.flow_style:
            return max(self._end(pair) for pair in self._all_pairs(node))
        if isinstance(node, yaml.SequenceNode) and not node.flow_style:
            if all(node.start_mark.index <= item.start_mark.index < node.end_mark.index for item in node.value):
                return max(map(self._end_of, node.value))
            # An alias has no place: the end is before blank lines and comments.
            return len(_COMMENTS.sub("", self._text[: node.end_mark.index]))
        text = self._text[: node.end_mark.index]
        return len(text.rstrip()) if isinstance(node, yaml.ScalarNode) else len(text)

    def _rest_of_line(self, at: int) -> str:
        found = re.compile(r"[^\r\n]*").match(self._text, at)
        return found[0] if found else ""

    def _line(self, at: int) -> int:
        return len(re.findall(r"\r\n|\r|\n", self._text[:at]))

    def _word(self, text: str) -> str:
        is_plain = not self._json and _PLAIN.fullmatch(text) and not needs_quotes(text)
        return text if is_plain else json.dumps(text, ensure_ascii=False)

    def _flow(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.SequenceNode):
            return f"[{', '.join(map(self._flow, node.value))}]"
        if isinstance(node, yaml.MappingNode):
            body = ", ".join(f"{self._flow(key)}: {self._flow(value)}" for key, value in node.value)
            return f"{{{body}}}"
        text = str(node.value)
        return self._word(text) if node.tag == TAG + "str" else text


def _is_merge(key: yaml.ScalarNode) -> bool:
    return key.value == "<<" and key.style is None


def _at(node: yaml.Node, *path: str) -> yaml.MappingNode:
    for name in path:
        node = next(value for key, value in node.value if key.value == name)
    assert isinstance(node, yaml.MappingNode)
    return node
