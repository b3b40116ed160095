"""``plan`` with the options that the checkpoint of a query has; tests/e2e compares it with what a query does."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from conformance import cases
from test_plan import file, run, written

from dynamic_kafka._tools.plan.error import PlanError
from dynamic_kafka._tools.plan.options import Options
from dynamic_kafka._tools.plan.shares import granted

__all__ = ["file"]


def with_options(**options: str) -> None:
    (stored,) = Path("checkpoint").rglob("topology/1.json")
    topology = json.loads(stored.read_text())
    stored.write_text(json.dumps(topology | {"options": options}))


def answer(result: Result) -> Any:
    assert result.stdout, result.stderr
    return json.loads(result.stdout)


def test_what_leaves_is_drained(file: Path) -> None:
    written(file, ("golden-orders], state: draining", "golden-new]"))
    with_options(removedClusterPolicy="DRAIN")
    result = run("--json")
    assert result.exit_code == 0, result.stderr
    found = answer(result)
    assert found["leaves"] == []
    assert [(one["topic"], one["position"], one["target"]) for one in found["drains"]] == [
        ("golden-orders", 4, 10)
    ] * 2
    assert found["assumed"] == []


@pytest.mark.parametrize(
    ("options", "entry", "expected"),
    [
        ({}, "golden-new]", (1, "earliest")),
        ({"newTopicStartingOffsets": "latest"}, "golden-new]", (10, "latest")),
        ({"newClusterStartingOffsets": "latest"}, "golden-new]", (1, "earliest")),
        ({"newTopicStartingOffsets": "latest"}, "golden-new], starting_offsets: earliest", (1, "earliest")),
        ({"cluster.blue.startingOffsets": "latest"}, "golden-new], starting_offsets: earliest", (10, "latest")),
    ],
    ids=["default", "topic", "cluster is known", "metadata", "option of the cluster"],
)
def test_where_a_topic_enters(file: Path, options: dict[str, str], entry: str, expected: tuple[int, str]) -> None:
    written(file, ("golden-orders], state: draining", entry))
    with_options(**options)
    entered = [one for one in answer(run("--json"))["enters"] if one["topic"] == "golden-new"]
    assert [(one["position"], one["by"]) for one in entered] == [expected] * 2


def test_positions_that_are_not_retained_any_more(file: Path) -> None:
    written(file)
    with_options(streamMetadataRemovedClusterRetentionMs="1h", newClusterStartingOffsets="latest")
    entered = answer(run("--json"))["enters"]
    assert {(one["cluster"], one["position"], one["by"]) for one in entered} == {("green", 10, "latest")}


def test_limits(file: Path) -> None:
    written(file)
    with_options(maxOffsetsPerTrigger="20", **{"cluster.blue.maxOffsetsPerTrigger": "4"})
    # Of 4, 16 and 18 records.
    assert answer(run("--json"))["next_batch"] == {"records": 20, "clusters": {"blue": 2, "green": 8, "red": 10}}


def test_streams_that_match_the_pattern(file: Path) -> None:
    written(file, ("streams:\n", "streams:\n  other: {clusters: {red: {topics: [golden-new]}}}\n"))
    with_options(streamPattern="golden|other|v.*")
    assert {one["topic"] for one in answer(run("--json"))["enters"]} == {"golden-new", "golden-orders"}
    with_options(streamIds="golden")
    assert {one["topic"] for one in answer(run("--json"))["enters"]} == {"golden-orders"}


def test_a_stream_that_may_be_missing(file: Path) -> None:
    file.write_text("version: 1\nclusters: {}\nstreams: {}\n")
    with_options(allowMissingStreams="true", maxRemovedClustersPerChange="-1")
    result = run("--json")
    assert result.exit_code == 2, result.stderr
    assert {one["cluster"] for one in answer(result)["leaves"]} == {"blue", "red"}


def test_what_may_delay_or_shorten_the_batch(file: Path) -> None:
    written(file)
    with_options(minOffsetsPerTrigger="100", maxBytesPerTrigger="1m", alignment="timestamp")
    assert answer(run("--json"))["assumed"] == [
        "the query waits until it has 100 records, which may delay the batch",
        "the query limits the bytes of a batch (1m), so the batch may be smaller",
        "the query aligns clusters by time (timestamp), so the batch may be smaller",
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"cluster.blue.startingOffsetsByTimestamp": "{}"},
        {"maxOffsetsPerTrigger": "many"},
        {"streamMetadataRemovedClusterRetentionMs": "1 fortnight"},
        {"streamPattern": "\\p{Lu}"},
    ],
)
def test_options_that_are_not_planned(file: Path, options: dict[str, str]) -> None:
    written(
        file,
        ("golden-orders], state: draining", "golden-new]"),
        ("streams:\n", "streams:\n  other: {clusters: {red: {topics: [golden-new]}}}\n"),
    )
    with_options(**options)
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert next(iter(options)).rpartition(".")[2] in result.stderr


@pytest.mark.parametrize("case", cases("plan"), ids=lambda case: case["name"])
def test_the_share_of_a_limit_is_that_of_the_connector(case: dict[str, Any]) -> None:
    unread = {(id, topic, p): end - begin for id, topic, p, begin, end in case["reads"]}
    limits = case["limits"]
    found = granted(unread, limits["query"], limits["clusters"].get)
    assert [[*key, records] for key, records in sorted(found.items())] == case["granted"]


def test_no_limit_is_exceeded() -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    chosen = random.Random(seed)
    for _ in range(300):
        unread = {(chosen.choice("abc"), "t", p): chosen.choice([0, 1, 7, 10**12]) for p in range(8)}
        limit = chosen.choice([None, 1, 3, 20, 10**12])
        of_cluster = {"a": chosen.choice([1, 5, 100]), "b": chosen.choice([2, 10**9])}
        found = granted(unread, limit, of_cluster.get)
        assert all(0 <= found[key] <= unread[key] for key in unread)
        assert limit is None or sum(found.values()) <= limit
        for id, most in of_cluster.items():
            assert sum(records for key, records in found.items() if key[0] == id) <= most
        if limit is None and not of_cluster.keys() & {key[0] for key in unread}:
            assert found == unread


def test_an_option_that_is_no_number() -> None:
    with pytest.raises(PlanError):
        Options({"maxRemovedClustersPerChange": "x"}).most_removed(3)
