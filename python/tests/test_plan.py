"""``plan`` with faked clusters; tests/e2e compares it with what a query does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.cli.app import app
from dynamic_kafka._tools.plan import asking
from dynamic_kafka._tools.plan.asking import Topics
from dynamic_kafka._tools.plan.error import PlanError
from dynamic_kafka._tools.plan.topology import topology_of
from dynamic_kafka.model import ClusterMetadata, KafkaStream

FILE = """version: 1
clusters:
  blue: {properties: {bootstrap.servers: "blue:1"}}
  green: {properties: {bootstrap.servers: "green:1"}}
  red: {properties: {bootstrap.servers: "red:1"}}
streams:
  golden:
    clusters:
      blue: {topics: [golden-orders], state: draining}
      green: {topics: [golden-orders], starting_offsets: latest}
      red: {topics: [golden-old]}
"""


class FakeCluster:
    """Two partitions of each topic, with the offsets 1 to 10."""

    kafka_ids: ClassVar[dict[str, str]] = {}

    def __init__(self, id: str, properties: Mapping[str, str], timeout_s: float) -> None:
        if properties["bootstrap.servers"] == "down:1":
            raise PlanError(f"cluster '{id}': no answer")
        self._id = id

    @property
    def names(self) -> frozenset[str]:
        return frozenset(("golden-orders", "golden-old", "golden-new"))

    def topics(self, asked: Iterable[str]) -> Topics:
        there = self.names.intersection(asked)
        unreadable = there if self._id == "green" else frozenset()
        return Topics(
            self.kafka_ids.get(self._id, f"kafka-{self._id}"),
            self.names,
            dict.fromkeys(there, "id"),
            frozenset(unreadable),
        )

    def ends(self, topics: Iterable[str]) -> Positions:
        return {topic: {0: 10, 1: 10} for topic in topics}

    def earliest(self, topics: Iterable[str]) -> Positions:
        return {topic: {0: 1, 1: 1} for topic in topics}

    def starting(self, topics: Mapping[str, str], ends: Positions) -> Positions:
        return {topic: ends[topic] for topic, given in topics.items() if given == "latest"}

    def record_bytes(self, topic: str, partition: int, offset: int) -> float:
        return 2.5


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(asking, "Cluster", FakeCluster)
    shutil.copytree(REPOSITORY / "jvm/connector/src/test/resources/checkpoints/0.1.0", "checkpoint")
    *head, offset = Path("checkpoint/offsets/1").read_text().splitlines()
    root = json.loads(offset)
    # Kafka's ids are placeholders.
    del root["identities"], root["retained"]["green"]["topics"]["golden-orders"]["id"]
    Path("checkpoint/offsets/1").write_text("\n".join([*head, json.dumps(root)]) + "\n")
    (topology,) = Path("checkpoint").rglob("topology/1.json")
    topology.write_text(json.dumps(json.loads(topology.read_text()) | {"options": {"streamIds": "orders"}}))
    Path("streams.yaml").write_text(FILE)
    return Path("streams.yaml")


def run(*options: str) -> Result:
    result = CliRunner().invoke(app, ["plan", "checkpoint", "streams.yaml", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def stream_of_the_checkpoint() -> str:
    (file,) = Path("checkpoint").rglob("topology/1.json")
    current = json.loads(file.read_text())["current"]
    (stream,) = {topic["stream"] for cluster in current.values() for topic in cluster["topics"].values()}
    return str(stream)


def written(file: Path, *replacements: tuple[str, str]) -> None:
    text = FILE.replace("golden:", f"{stream_of_the_checkpoint()}:")
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    file.write_text(text)


def test_what_enters_drains_and_stays(file: Path) -> None:
    written(file)
    result = run("--json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["batch"] == 1
    # Retained positions take precedence over starting_offsets.
    assert answer["enters"] == [
        {"cluster": "green", "topic": "golden-orders", "partition": p, "position": 2, "by": "retained"}
        for p in (0, 1)
    ]
    assert answer["drains"] == [
        {"cluster": "blue", "topic": "golden-orders", "partition": p, "position": 4, "target": 10} for p in (0, 1)
    ]
    assert answer["leaves"] == []
    assert answer["lost"] == {"records": 0, "bytes": 0, "bytes_estimated": True}
    assert answer["rights"] == [{"cluster": "green", "topic": "golden-orders", "right": "Read"}]
    assert answer["next_batch"] == {"records": 46, "clusters": {"blue": 12, "green": 16, "red": 18}}


def test_what_is_lost(file: Path) -> None:
    written(file, ("golden-orders], state: draining", "golden-new]"))
    result = run()
    assert result.exit_code == 2, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "after batch 1"
    assert "+ cluster blue, topic golden-new, partition 0 enters at 1 (earliest)" in lines
    assert "- cluster blue, topic golden-orders, partition 0 leaves at 4: 6 unread records" in lines
    assert "! cluster green, topic golden-orders: no right to Read" in lines
    assert "lost: 12 records, about 30 bytes" in lines
    assert lines[-1] == "next batch: 52 records (blue 18, green 16, red 18)"


@pytest.mark.parametrize(
    ("replacement", "says"),
    [
        (('"red:1"', '"down:1"'), "cluster 'red': no answer"),
        (("streams:\n", "streams:\n  x: {clusters: {}}\n"), None),
        (("golden-old]", "golden-old], starting_offsets: earliest"), None),
        (("[golden-old]", "[golden-old], state: removed"), None),
    ],
)
def test_what_cannot_be_told(file: Path, replacement: tuple[str, str], says: str | None) -> None:
    written(file, replacement)
    result = run()
    assert result.exit_code == (
        0 if says is None and "removed" not in replacement[1] else 2 if says is None else 1
    )
    assert (says or "") in result.stderr


def test_a_stream_that_the_file_lacks(file: Path) -> None:
    file.write_text(FILE.replace("golden:", "another:"))
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"the file lacks stream '{stream_of_the_checkpoint()}'" in result.stderr


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"history": {"orders": 2}}, "still reads a history: 1 file is left"),
        ({"ends": {"blue": {"t": {"by": "latest", "offsets": {"0": 5}}}}}, "has stopping offsets"),
        ({"identities": {"blue": {"cluster": "other"}}}, "cluster 'blue' is another Kafka cluster"),
        ({"identities": {"blue": {"topics": {"golden-new": "other"}}}}, "topic 'golden-new' was recreated"),
    ],
)
def test_positions_that_are_not_planned(file: Path, section: dict[str, object], says: str) -> None:
    written(file)
    with_history({"orders": 3})
    offset = {"version": 2, "clusters": {"blue": {"golden-new": {"0": 4}}}, **section}
    Path("checkpoint/offsets/2").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n")
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert says in result.stderr


def with_history(files: Mapping[str, int], **followed: object) -> None:
    """The query has read these files before Kafka."""
    (initial,) = Path("checkpoint").rglob("initial.json")
    streams = {stream: {"files": [["file", 0, 0]] * number} for stream, number in files.items()}
    history = {"streams": streams, "offsets": followed, "times": {}, "topicTimes": {}}
    initial.write_text(json.dumps({**json.loads(initial.read_text()), "history": history}))


def test_a_history_whose_files_are_all_read(file: Path) -> None:
    written(file)
    with_history({"orders": 3}, blue={"golden-orders": {"0": 5}})
    offset = {"version": 2, "clusters": {"red": {"golden-old": {"0": 1, "1": 1}}}, "history": {"orders": 3}}
    Path("checkpoint/offsets/2").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n")
    result = run("--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cluster 'blue', topic 'golden-orders' follows on a history, which CALL" in result.stderr
    with_history({"orders": 3})
    result = run("--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["next_batch"]["clusters"]["red"] == 18


@pytest.mark.parametrize(
    ("positions", "says"),
    [
        (
            {"rad": {"golden-old": {"0": 4}}},
            "the metadata lack cluster 'rad'. Did you mean 'red'? 'rename-cluster'",
        ),
        (
            {"red": {"golden-new": {"0": 4}}},
            "the metadata lack topic 'golden-new' on cluster 'red'. 'rename-cluster'",
        ),
        ({"red": {"golden-old": {"0": 4}}}, "does not name the streams of the query"),
        # The query recognizes it under another id.
        ({"known": {"golden-old": {"0": 4}}}, "does not name the streams of the query"),
    ],
)
def test_a_checkpoint_that_was_migrated(positions: object, says: str, file: Path) -> None:
    shutil.rmtree("checkpoint/sources")
    offset = {"version": 2, "clusters": positions, "identities": {"known": {"cluster": "K1"}}}
    Path("checkpoint/offsets/1").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n")
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert says in result.stderr


RED = '  red: {properties: {bootstrap.servers: "red:1"}}\n'
WHITE = RED + '  white: {properties: {bootstrap.servers: "white:1"}, replaces: red}\n'


def replaced(file: Path, state: str, **options: str) -> Result:
    """Plan that white replaces red."""
    red = "red: {topics: [golden-old]}"
    white = f"red: {{topics: [golden-old], state: {state}}}\n      white: {{topics: [golden-old]}}"
    written(file, (RED, WHITE), (red, white))
    (topology,) = Path("checkpoint").rglob("topology/1.json")
    root = json.loads(topology.read_text())
    topology.write_text(json.dumps({**root, "options": options}))
    return run("--json")


@pytest.mark.parametrize(("policy", "position"), [("earliest", 1), ("latest", 10)])
def test_a_cluster_that_replaces_another_enters_by_the_policy(file: Path, policy: str, position: int) -> None:
    found = json.loads(replaced(file, "removed", replacedClusterPolicy=policy).stdout)
    assert [(one["position"], one["by"]) for one in found["enters"] if one["cluster"] == "white"] == [
        (position, policy),
        (position, policy),
    ]
    assert {one["cluster"] for one in found["leaves"]} == {"red"}
    assert found["lost"]["records"] > 0


def test_a_cluster_that_replaces_another_and_the_policy_fail(file: Path) -> None:
    result = replaced(file, "removed")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.strip() == (
        "cluster 'white' replaces cluster 'red'. The query fails with CLUSTER_REPLACED: the offsets in the "
        "checkpoint do not apply to it (replacedClusterPolicy is 'fail')"
    )


def test_a_cluster_that_replaces_another_waits_until_that_one_is_drained(file: Path) -> None:
    result = replaced(file, "draining")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert "white" not in {one["cluster"] for one in found["enters"]}
    assert "white" not in found["next_batch"]["clusters"]
    assert "red" in {one["cluster"] for one in found["drains"]}


def test_a_kafka_cluster_under_another_id(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FakeCluster.kafka_ids, "red", "kafka-white")
    written(
        file,
        (RED, '  white: {properties: {bootstrap.servers: "white:1"}}\n'),
        ("red: {topics: [golden-old]}", "white: {topics: [golden-old]}"),
    )
    offset = {
        "version": 2,
        "clusters": {"red": {"golden-old": {"0": 4, "1": 4}}},
        "identities": {"red": {"cluster": "kafka-white"}},
    }
    Path("checkpoint/offsets/2").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n")
    result = run()
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cluster 'white' is the Kafka cluster that was cluster 'red'" in result.stderr


def test_a_position_that_kafka_no_longer_has(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(file)
    monkeypatch.setattr(FakeCluster, "earliest", lambda _, topics: {t: {0: 9, 1: 9} for t in topics})
    result = run()
    assert result.exit_code == 1
    assert "Kafka no longer has the position of the query" in result.stderr


def test_the_topology_of_several_streams() -> None:
    def stream(id: str, **entry: object) -> KafkaStream:
        return KafkaStream(id, {"blue": ClusterMetadata(properties={}, **entry)})  # type: ignore[arg-type]

    found = topology_of(
        [
            stream("b", partitions={"x": [2]}, state="draining", starting_offsets="latest"),
            stream("a", topic_pattern="[xy]", state="draining", starting_offsets="earliest"),
            stream("c", topics=["z"], state="removed"),
        ],
        lambda _: ["x", "y", "yy"],
    )
    (topics,) = found.clusters.values()
    assert topics["x"].draining and topics["x"].partitions is None
    assert topics["x"].starting_offsets == "earliest"
    assert sorted(topics) == ["x", "y"]
    assert found.removed == {"blue": {"z"}}
    with pytest.raises(PlanError, match="Java only"):
        topology_of([stream("a", topic_pattern="a++b(?<n>c)\\p{Lu}")], lambda _: ["x"])
