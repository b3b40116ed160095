"""Documents, sources and tests are written in plain technical English, without the phrases of forbidden-phrases.txt."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs

# The files in which the phrases are forbidden.
CHECKED = [
    "*.md",
    "docs/**/*.md",
    "python/README.md",
    "python/src/**/*.py",
    "python/tests/**/*.py",
    "tests/**/*.py",
    "benchmark/**/*.py",
    "examples/**/*.py",
    "examples/*.scala",
    "examples/*.yaml",
    "jvm/*/src/**/*.scala",
    "jvm/testkit/python/**/*.py",
    "jvm/*/src/main/resources/error/*.json",
    "project/*.scala",
    "build.sbt",
    "Makefile",
]
PHRASES = [
    line
    for line in Path(__file__).with_name("forbidden-phrases.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
# The words in any case, also over the end of a line with the start of a comment between them.
FORBIDDEN = {
    p: re.compile(r"\b" + r"[\s*#/]+".join(map(re.escape, p.split())) + r"\b", re.IGNORECASE) for p in PHRASES
}
# Code in documents quotes names and the output of programs.
_CODE = re.compile(r"```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)

# This file has phrases to look for.
FILES = sorted({file for glob in CHECKED for file in docs.ROOT.glob(glob)} - {Path(__file__).resolve()})


def prose(file: Path) -> str:
    """The text of a file; of a document without its code."""
    text = file.read_text()
    return _CODE.sub(lambda code: "\n" * code[0].count("\n"), text) if file.suffix == ".md" else text


@pytest.mark.parametrize("file", FILES, ids=docs.name)
def test_no_forbidden_phrase(file: Path) -> None:
    text = prose(file)
    # Few phrases are in a file: to look for their words takes less time than the pattern.
    lower = text.lower()
    found = [
        f"{docs.name(file)}:{text.count(chr(10), 0, match.start()) + 1}: {phrase}"
        for phrase, pattern in FORBIDDEN.items()
        if all(word in lower for word in phrase.lower().split())
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_the_phrases_are_found() -> None:
    assert FORBIDDEN["goes on"].search("a query that Goes\n  // on")
    assert not FORBIDDEN["mend"].search("recommended")
