"""Edits of random and unusual metadata files: only the lines concerned change."""

from __future__ import annotations

import difflib
import json
import random
from dataclasses import replace

import pytest

from dynamic_kafka._tools.metadata_file.document import read
from dynamic_kafka._tools.metadata_file.edits import EditError, moved, with_state
from dynamic_kafka.model import KafkaStream, State


class _Documents:
    """Random documents, in random styles, with comments."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.clusters = [f"c{n}" for n in range(self._random.randint(2, 4))]
        self.streams = [f"s{n}" for n in range(self._random.randint(1, 3))]
        self.text = self._random.choice((self._yaml, self._yaml, self._json))()

    def _comment(self) -> str:
        return self._random.choice(("", "", f" # {self._random.randint(0, 99)} {{x: [y], *z"))

    def _entry(self, stream: str, indent: str) -> str:
        states = ("", "state: draining", "state: 'active'", 'state: "removed"', "state: active")
        parts = [self._random.choice(states), self._random.choice(("", "write: false", "registry: json"))]
        parts = [part for part in parts if part]
        topics = f"{stream}-topic"
        if self._random.random() < 0.4:
            parts.insert(self._random.randint(0, len(parts)), f"topics: [{topics}, 'no']")
            separator = self._random.choice((", ", " ,  ", f",\n{indent}   "))
            return f" {{{separator.join(parts)}}}{self._comment()}\n"
        if self._random.random() < 0.2:
            return f" &{stream}x{self._random.randint(0, 10**9)} {{topics: [{topics}]}}{self._comment()}\n"
        listed = [f"{indent}topics:{self._comment()}", f"{indent}- {topics}", f"{indent}- b{self._comment()}"]
        block = "\n".join(self._random.choice((listed, [f"{indent}topics: [{topics}]{self._comment()}"])))
        lines = [f"{indent}{part}{self._comment()}" for part in parts]
        lines.insert(self._random.randint(0, len(lines)), block)
        extra = self._random.choice(("", f"{indent}# about the topics\n", "\n"))
        return f"{self._comment()}\n{extra}" + "\n".join(lines) + "\n"

    def _yaml(self) -> str:
        step = " " * self._random.randint(1, 4)
        text = f"version: 1{self._comment()}\nclusters:\n"
        for cluster in self.clusters:
            text += f"{step}{cluster}: {{properties: {{bootstrap.servers: '{cluster}:1'}}}}{self._comment()}\n"
        text += f"streams:{self._comment()}\n"
        for stream in self.streams:
            text += f"{step}{stream}:\n{step * 2}clusters:{self._comment()}\n"
            for cluster in self._chosen(stream):
                text += f"{step * 3}{cluster}:{self._entry(stream, step * 4)}"
        if self._random.random() < 0.3:
            text = text.replace("\n", "\r\n")
        return text.removesuffix("\n") if self._random.random() < 0.3 else text

    def _chosen(self, stream: str) -> list[str]:
        return self._random.sample(self.clusters, self._random.randint(1, len(self.clusters)))

    def _json(self) -> str:
        document = {
            "version": 1,
            "clusters": {c: {"properties": {"bootstrap.servers": f"{c}/1"}} for c in self.clusters},
            "streams": {
                s: {
                    "clusters": {
                        c: {"topics": [s], **self._random.choice(({}, {"state": "draining"}))}
                        for c in self._chosen(s)
                    }
                }
                for s in self.streams
            },
        }
        text = json.dumps(document, indent=self._random.choice((None, 2, "\t")))
        return text.replace("/", "\\/") if self._random.random() < 0.5 else text


@pytest.mark.parametrize("seed", range(100))
def test_only_the_lines_concerned_change(seed: int) -> None:
    document = _Documents(seed)
    before = read(document.text)
    assert not before.errors, document.text
    choose = random.Random(seed)
    stream = choose.choice(document.streams)
    cluster = choose.choice(list(before.streams[stream].clusters))
    state: State = choose.choice(("draining", "active"))
    after = with_state(document.text, cluster, state, stream)
    entry = replace(before.streams[stream].clusters[cluster], state=state)
    assert read(after).streams == {
        **before.streams,
        stream: KafkaStream(stream, {**before.streams[stream].clusters, cluster: entry}),
    }
    _check_other_lines(document.text, after, 1)
    absent = [c for c in document.clusters if c not in before.streams[stream].clusters]
    if absent:
        after = moved(document.text, stream, cluster, absent[0])
        found = read(after).streams[stream].clusters
        assert found[cluster].state == "draining"
        assert found[absent[0]].topics == found[cluster].topics
        assert found[absent[0]].state == "active"
        _check_other_lines(document.text, after, 2)


def _check_other_lines(before: str, after: str, concerned: int) -> None:
    """Each line is there as before, in its order, but for those concerned; so is each comment."""
    ends = "\r\n" if "\r\n" in before else "\n"
    old, new = (
        (text if text.endswith(ends) else text + ends).splitlines(keepends=True) for text in (before, after)
    )
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    assert sum(b - a for how, a, b, _, _ in codes if how != "equal") <= concerned, (before, after)
    assert len(new) - len(old) <= concerned
    assert _comments(before) == _comments(after)


def _comments(text: str) -> list[str]:
    return [line.split(" # ", 1)[1].rstrip() for line in text.splitlines() if " # " in line]


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize(
    "entry",
    [
        "blue: # the old one\n        ? topics\n        : [a]\n",
        "blue:\n        topics: &t\n        - &n a\n        - *alias\n",
        "? blue\n      : {topics: [a]}\n",
        "blue: {topics: [a],}\n",
        "blue: {\n        topics: [\n          a, # one\n        ], # all\n      }\n",
        "blue: {state: &s active, topics: [a], registry: {x: *s}}\n",
        "blue:\n        registry: |\n          a INT\n          # x\n        topics: [a]\n      # the end\n",
        "blue:\n        topics: [a]\n        registry: |\n          a INT\n          # x\n\n      # the end\n",
        "blue:\n        topics:\n        - a\n        - *alias\n      # the end\n",
    ],
)
def test_unusual_entries(moves: bool, entry: str) -> None:
    """Each is changed or refused, and never damaged."""
    text = (
        "version: 1\nclusters:\n  blue: {properties: {bootstrap.servers: &alias b}}\n"
        f"  red: {{properties: {{bootstrap.servers: r}}}}\nstreams:\n  a:\n    clusters:\n      {entry}"
        "  b:\n    clusters:\n      red: {topics: [b]}\n"
    )
    before = read(text).streams
    assert before
    try:
        after = read(moved(text, "a", "blue", "red") if moves else with_state(text, "blue", "draining")).streams
    except EditError as e:
        assert "by hand" in str(e)
        return
    assert after["a"].clusters["blue"] == replace(before["a"].clusters["blue"], state="draining")
    assert after["b"] == before["b"]
