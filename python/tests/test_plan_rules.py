"""What the next batch does is what the connector decides, which has written tests/conformance/plan."""

from __future__ import annotations

from typing import Any

import pytest
from conformance import cases

from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.plan.replacing import replacing
from dynamic_kafka._tools.plan.rules import Answer, Topic, Topology, decide


def positions(topics: dict[str, dict[str, int]]) -> Positions:
    return {topic: {int(p): at for p, at in of.items()} for topic, of in topics.items()}


def topic(entry: dict[str, Any]) -> Topic:
    partitions = entry.get("partitions")
    selected = None if partitions is None else frozenset(partitions)
    return Topic(entry["draining"], selected, stream=entry.get("stream", ""))


@pytest.mark.parametrize("case", cases("plan"), ids=lambda case: case["name"])
def test_decisions(case: dict[str, Any]) -> None:
    named = {id: {t: topic(entry) for t, entry in below.items()} for id, below in case["topology"].items()}
    topology = Topology(
        named,
        {id: frozenset(topics) for id, topics in case["removed"].items()},
        case.get("replaces", {}),
        {id: {of.stream for of in topics.values()} for id, topics in named.items()},
    )
    planned = replacing(composite.read(case["offset"]), topology, case["drain_removed"])
    assert planned.former == case.get("former", {})
    answers = {}
    for id, of in case["kafka"].items():
        ends, earliest = positions(of["ends"]), positions(of["earliest"])
        entering = ends if case.get("replaced_cluster_policy") == "latest" else earliest
        continued = case.get("continued", {}).get(id)
        answers[id] = Answer(
            ends,
            earliest,
            entering if id in planned.former else {},
            None if continued is None else positions(continued),
        )
    decision = decide(planned.start, planned.topology, answers, case["drain_removed"])
    for name in ("enters", "drains", "leaves"):
        found = getattr(decision, name)
        assert [[*key, at] for key, at in sorted(found.items())] == case[name], name
    assert [[*key, *span] for key, span in sorted(decision.reads.items())] == case["reads"]
