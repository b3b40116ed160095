"""The Python client of the testkit, which every other end-to-end test relies on."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from dynamic_kafka_testkit import Cluster, Record, StoredRecord, Testkit, TestkitError

from tests.harness.waiting import until


@pytest.fixture(scope="module")
def pair(testkit: Testkit) -> Iterator[list[Cluster]]:
    clusters = testkit.start_all("survivor", "other")
    yield clusters
    for cluster in clusters:
        cluster.stop()


@pytest.mark.test_all
def test_records_survive_a_killed_broker(pair: list[Cluster]) -> None:
    cluster, other = pair
    with_umlaut = Record(1, "schlüssel", "wert", {"h": "x"})
    cluster.create_topic("t", partitions=2)
    assert cluster.produce("t", [with_umlaut, Record(0, None, None)]) == [(1, 0), (0, 0)]

    cluster.kill()
    assert not cluster.is_alive()
    with pytest.raises(TestkitError, match="survivor is down"):
        cluster.topics()
    assert other.topics() == set()

    killed = cluster.pid
    cluster.restart()
    assert cluster.is_alive()
    assert cluster.pid != killed
    assert cluster.topics() == {"t"}
    assert cluster.end_offsets("t") == {0: 1, 1: 1}
    assert cluster.transactions() == {}
    first, second = cluster.dump("t")
    assert first == StoredRecord(0, 0, None, None, {}, first.timestamp)
    assert second == StoredRecord(1, 0, "schlüssel", "wert", {"h": "x"}, second.timestamp)


def test_every_operation_reaches_the_broker(testkit: Testkit) -> None:
    oldest = testkit.versions()[-1]
    with testkit.start("far", version=oldest, round_trip_ms=20) as cluster:
        assert cluster.version == oldest
        cluster.create_topic("t", configs={"cleanup.policy": "delete"})
        cluster.add_partitions("t", 2)
        cluster.load("t", records=10, record_bytes=100)
        cluster.create_topic("timed")
        cluster.load("timed", records=4, record_bytes=8, times=(1000, 1010))
        cluster.produce("timed", [Record(0, None, "x", timestamp=7)])
        assert [record.timestamp for record in cluster.dump("timed")] == [1000, 1002, 1005, 1007, 7]
        cluster.delete_topic("timed")
        cluster.delete_records("t", 0, before_offset=2)
        assert cluster.beginning_offsets("t") == {0: 2, 1: 0}
        assert len(cluster.dump("t", committed_only=True)) == 8
        assert cluster.committed_offsets("unknown") == {}
        cluster.cut_network()
        cluster.pause_network()
        cluster.resume_network()
        with pytest.raises(TestkitError, match="proxy"):
            cluster.restart_on_new_port()
        cluster.freeze()
        cluster.thaw()
        cluster.delete_topic("t")
        assert cluster.topics() == set()


@pytest.mark.test_all
def test_a_moved_cluster_has_a_new_address(pair: list[Cluster]) -> None:
    _, cluster = pair
    cluster.create_topic("moved")
    address = cluster.bootstrap_servers
    cluster.restart_on_new_port()
    assert cluster.bootstrap_servers != address
    assert cluster.topics() == {"moved"}


@pytest.mark.test_all
def test_a_node_of_several_is_killed_alone(testkit: Testkit) -> None:
    with testkit.start("several", nodes=3, racks=("a", "b", "c")) as cluster:
        assert [(node.id, node.rack) for node in cluster.nodes] == [(1, "a"), (2, "b"), (3, "c")]
        cluster.create_topic("t")
        led = cluster.leader("t", 0)
        assert led is not None
        leader = cluster.node(led)
        pid = leader.pid
        leader.kill()
        assert cluster.is_alive()
        assert not leader.is_alive()
        assert cluster.produce("t", [Record(0, None, "x")]) == [(0, 0)]
        until("another leader", lambda: cluster.leader("t", 0) not in (led, None))
        leader.restart()
        assert leader.pid != pid
        until("all in sync", lambda: cluster.in_sync("t", 0) == {1, 2, 3})
        leader.freeze()
        leader.thaw()
        assert [record.value for record in cluster.dump("t")] == ["x"]


def test_requests_to_a_dead_server_fail() -> None:
    testkit = Testkit()
    os.kill(testkit.pid, signal.SIGKILL)
    with pytest.raises(TestkitError, match="ended"):
        testkit.versions()
    testkit.close()


def test_requests_to_a_server_that_did_not_start_fail(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xms2g")
    testkit = Testkit()
    with pytest.raises(TestkitError, match="ended"):
        testkit.versions()
    testkit.close()
    assert "heap size" in capfd.readouterr().err


@pytest.mark.test_all
def test_mirror_maker(testkit: Testkit) -> None:
    with testkit.start("source") as source, testkit.start("target") as target:
        source.create_topic("orders")
        source.produce("orders", [Record(0, None, "a")])
        mirror = testkit.mirror(source, target, alias="source", topics=["orders"], groups=[], identity=True)

        def copied() -> list[str | None]:
            return [record.value for record in target.dump("orders")] if "orders" in target.topics() else []

        until("a record is copied", lambda: "a" in copied())
        mirror.kill()
        source.produce("orders", [Record(0, None, "b")])
        mirror.restart()
        until("the next record is copied", lambda: "b" in copied())
        mirror.stop()
