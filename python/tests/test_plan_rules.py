"""What the next batch does is what the connector decides, which has written tests/conformance/plan."""

from __future__ import annotations

from typing import Any

import pytest
from conformance import cases

from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.plan.rules import Answer, Topic, Topology, decide


def positions(topics: dict[str, dict[str, int]]) -> Positions:
    return {topic: {int(p): at for p, at in of.items()} for topic, of in topics.items()}


def topic(entry: dict[str, Any]) -> Topic:
    partitions = entry.get("partitions")
    return Topic(entry["draining"], None if partitions is None else frozenset(partitions))


@pytest.mark.parametrize("case", cases("plan"), ids=lambda case: case["name"])
def test_decisions(case: dict[str, Any]) -> None:
    named = {id: {t: topic(entry) for t, entry in below.items()} for id, below in case["topology"].items()}
    decision = decide(
        composite.read(case["offset"]),
        Topology(named, {id: frozenset(topics) for id, topics in case["removed"].items()}),
        {id: Answer(positions(of["ends"]), positions(of["earliest"])) for id, of in case["kafka"].items()},
        case["drain_removed"],
    )
    for name in ("enters", "drains", "leaves"):
        found = getattr(decision, name)
        assert [[*key, at] for key, at in sorted(found.items())] == case[name], name
    assert [[*key, *span] for key, span in sorted(decision.reads.items())] == case["reads"]
