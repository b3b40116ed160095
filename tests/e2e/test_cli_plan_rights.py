"""`plan` names the rights that a user lacks, and needs no others than the query."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.command import command

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Testkit

PASSWORD = "pw-plan-4713"


@pytest.fixture(scope="module")
def guarded(testkit: Testkit) -> Iterator[Cluster]:
    """A cluster with a user that may read `readable`, and only describe `seen`."""
    from dynamic_kafka_testkit import Record, Scram

    cluster = testkit.start("guarded", security=Scram({"reader": PASSWORD}, acls=True))
    for topic in ("readable", "seen", "hidden"):
        cluster.create_topic(topic, 1)
        cluster.produce(topic, [Record(0, None, str(n)) for n in range(5)])
    cluster.add_acl("reader", "readable", "READ")
    cluster.add_acl("reader", "seen", "DESCRIBE")
    yield cluster
    cluster.stop()


class Stopped:
    """The checkpoint of a query that has read two records of `readable`, and the file of its stream."""

    def __init__(self, folder: Path, guarded: Cluster, **options: str) -> None:
        self.checkpoint, self.file = folder / "checkpoint", folder / "streams.json"
        self._properties = guarded.scram_client("reader", PASSWORD)
        source = self.checkpoint / "sources/0/dynamic-kafka/topology"
        for part in (source, self.checkpoint / "offsets", self.checkpoint / "commits"):
            part.mkdir(parents=True)
        offset = {"version": 2, "clusters": {"guarded": {"readable": {"0": 2}}}}
        if options:
            offset["identities"] = {"guarded": {"cluster": "another"}}
        (self.checkpoint / "offsets/0").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n")
        (self.checkpoint / "commits/0").write_text("v1\n{}\n")
        topics = {"readable": {"stream": "orders"}}
        current = {"guarded": {"properties": {}, "topics": topics}}
        root = {"version": 1, "current": current, "former": {}, "options": {"streamIds": "orders", **options}}
        (source / "0.json").write_text(json.dumps(root))

    def plan(self, *topics: str) -> tuple[int, Any, str]:
        """Exit code, JSON and reasons of the plan that the stream has these topics."""
        stream = {"clusters": {"guarded": {"topics": list(topics)}}}
        clusters = {"guarded": {"properties": self._properties}}
        self.file.write_text(json.dumps({"version": 1, "clusters": clusters, "streams": {"orders": stream}}))
        done = command("plan", self.checkpoint, self.file, "--json", "--timeout", "60")
        return done.exit_code, done.json, done.stderr


@pytest.mark.test_all
def test_a_user_that_may_only_read(guarded: Cluster, tmp_path: Path) -> None:
    code, found, reason = Stopped(tmp_path, guarded).plan("readable")
    assert code == 0, reason
    assert found["rights"] == []
    assert found["next_batch"] == {"records": 3, "clusters": {"guarded": 3}}


@pytest.mark.test_all
def test_a_topic_that_may_not_be_read(guarded: Cluster, tmp_path: Path) -> None:
    code, found, reason = Stopped(tmp_path, guarded).plan("readable", "seen")
    assert code == 0, reason
    assert found["rights"] == [{"cluster": "guarded", "topic": "seen", "right": "Read"}]
    assert found["next_batch"]["records"] == 8


@pytest.mark.test_all
def test_a_topic_that_may_not_be_described(guarded: Cluster, tmp_path: Path) -> None:
    code, found, reason = Stopped(tmp_path, guarded).plan("readable", "hidden", "nowhere")
    # Kafka does not tell a topic that does not exist from one that is hidden.
    assert code == 1
    assert [(one["topic"], one["right"]) for one in found["rights"]] == [
        ("hidden", "Describe"),
        ("nowhere", "Describe"),
    ]
    assert "cluster 'guarded', topic 'hidden'" in reason
    assert found["next_batch"]["records"] == 3


@pytest.mark.test_all
def test_records_that_may_not_be_read(guarded: Cluster, tmp_path: Path) -> None:
    stopped = Stopped(tmp_path, guarded, replacedClusterPolicy="same-offsets")
    offset = {
        "version": 2,
        "clusters": {"guarded": {"seen": {"0": 2}}},
        "identities": {"guarded": {"cluster": "another"}},
    }
    (stopped.checkpoint / "offsets/0").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n")
    code, found, reason = stopped.plan("seen")
    assert (code, found) == (1, None)
    assert "CLUSTER_AUTHORIZATION_FAILED" in reason and "cluster 'guarded'" in reason and "seen" in reason, reason
