"""Each row of docs/dev/mistakes.md has the answer that the product gives today."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs
import mistakes

CASES = mistakes.cases()
# Not in a session of this test: the answer is that of the definition, and a test of its own runs the case.
ELSEWHERE = ("Log-ins", "Sessions")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mistakes.Session]:
    with mistakes.running(tmp_path_factory.mktemp("mistakes")) as session:
        yield session


def test_there_are_fifty() -> None:
    assert len(CASES) >= 50
    assert [case.number for case in CASES] == list(range(1, len(CASES) + 1))


@pytest.mark.parametrize("case", [case for case in CASES if case.section not in ELSEWHERE], ids=str)
def test_the_answer_is_that_of_the_page(case: mistakes.Case, session: mistakes.Session) -> None:
    condition, text = session.answer(case)
    assert condition == case.condition, text
    assert mistakes.matches(case.text, text), text


@pytest.mark.parametrize("case", [case for case in CASES if case.section in ELSEWHERE], ids=str)
def test_the_answer_is_that_of_the_definition(case: mistakes.Case) -> None:
    assert mistakes.matches(case.text, mistakes.definitions()[case.condition])
    path, name = re.findall(r"`([\w/]+\.py)::(\w+)`", case.typed)[0]
    text = (docs.ROOT / path).read_text()
    assert f"def {name}(" in text
    assert case.condition in text
