"""Where a query continues is what the connector decides, which has written tests/conformance/replacement."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from conformance import cases
from test_plan_rules import positions

from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.last_records import LastRecord
from dynamic_kafka._tools.plan.continuing import (
    Answer,
    NotContinuedError,
    Replacement,
    questions,
    same_offsets,
)
from dynamic_kafka._tools.plan.mirror import Mirror, MirroredTopics


def record(offset: int | None, time: int | None) -> LastRecord | None:
    return None if offset is None or time is None else LastRecord(offset, time)


def replacement(case: dict[str, Any]) -> Replacement:
    return Replacement(
        "old",
        positions(case["positions"]),
        {(t, p): LastRecord(offset, time) for t, p, offset, time in case["read"]},
        case["last_batch"],
        frozenset(case["topics"]),
        positions(case["ends"]),
        positions(case["earliest"]),
    )


def expected(case: dict[str, Any], policy: str) -> Positions | str:
    found = case[policy]
    return found if isinstance(found, str) else positions(found)


@pytest.mark.parametrize("case", cases("replacement"), ids=lambda case: case["name"])
def test_same_offsets(case: dict[str, Any]) -> None:
    of = replacement(case)
    answers = {(t, p): Answer(record(*numbers[:2]), record(*numbers[2:])) for t, p, *numbers in case["answers"]}
    try:
        assert questions(of).keys() == answers.keys()
        found: Positions | str = same_offsets(of, answers)
    except NotContinuedError as e:
        found = str(e)
    assert found == expected(case, "same-offsets")


def checkpoint(number: int, group: str, topic: str, partition: int, *at: int) -> tuple[int, bytes, bytes | None]:
    texts = b"".join(struct.pack(">h", len(text)) + text.encode() for text in (group, topic))
    return number, texts + struct.pack(">i", partition), struct.pack(">hqqh", 0, *at, 0) if at else None


@pytest.mark.parametrize("case", cases("replacement"), ids=lambda case: case["name"])
def test_mirror_maker(case: dict[str, Any]) -> None:
    mirror = Mirror(replacement(case), "g", "old", MirroredTopics(case["identity"]))
    records = [checkpoint(n, *row) for n, row in enumerate(case["checkpoints"])]
    try:
        found: Positions | str = mirror.continuation(records)
    except NotContinuedError as e:
        found = str(e)
    assert found == expected(case, "mirror-maker")


@pytest.mark.parametrize(
    "broken",
    [(b"\x00", b""), (b"\x00\x09g", b""), (checkpoint(0, "g", "t", 0)[1], struct.pack(">hqqh", 1, 2, 3, 0))],
    ids=["ends early", "text is too long", "version"],
)
def test_a_record_that_is_no_checkpoint(broken: tuple[bytes, bytes]) -> None:
    of = Replacement("old", {"t": {0: 5}}, {}, 0, frozenset({"t"}), {"t": {0: 9}}, {"t": {0: 0}})
    with pytest.raises(NotContinuedError, match=r"offset 7 of topic .* is no checkpoint"):
        Mirror(of, "g", "old", MirroredTopics(is_identity=True)).continuation([(7, *broken)])


def test_names_of_topics() -> None:
    names = MirroredTopics(False, "_", has_internal_separator=False)
    assert (names.mirrored("a", "t"), names.upstream("a_t"), names.upstream("t")) == ("a_t", "t", None)
    assert names.checkpoints("a") == "a.checkpoints.internal"
