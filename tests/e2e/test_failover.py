"""Clusters of three brokers under load: failover of leader and controller, rolling restart, unclean election."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from dynamic_kafka_testkit import Record

from tests.harness.load import Load
from tests.harness.query import Query
from tests.harness.scene import Scene, positions
from tests.harness.waiting import until
from tests.soak.nodes import NodeFaults

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Testkit


@pytest.fixture(scope="module")
def three(testkit: Testkit) -> Iterator[Cluster]:
    with testkit.start("three", nodes=3) as cluster:
        yield cluster


@pytest.mark.test_all
def test_the_controller_is_killed_and_all_brokers_are_restarted_in_turn(scene: Scene, three: Cluster) -> None:
    """With the default `clusterFailurePolicy`: a query survives what Kafka's own clients survive."""
    topic, query = _stream(scene, three)
    faults = NodeFaults()
    with Load({"three": three, "blue": scene.brokers["blue"]}) as load:
        for cluster in ("three", "blue"):
            load.add(cluster, topic, 2)
        query.start(scene.drivers.shared())

        def flows() -> None:
            before = query.sink.last_batch()
            until("batches", lambda: _alive(query) and query.sink.last_batch() > before + 2)

        flows()
        faults.kill_controller(three, flows)
        faults.kill_leader(three, topic, flows)
        faults.roll(three)
        flows()
        for cluster in ("three", "blue"):
            load.remove(cluster, topic)
    scene.await_exact(query, ("three", topic), ("blue", topic))
    assert query.run == 1
    query.stop()


@pytest.mark.test_all
def test_the_leader_freezes_while_tasks_read_from_it(scene: Scene, three: Cluster) -> None:
    """Tasks continue with the new leader, although the connections to the former one remain open."""
    topic, query = _stream(scene, three, preferred=(1, 2, 3))
    faults = NodeFaults()
    with Load({"three": three}) as load:
        load.add("three", topic, 2)
        query.start(scene.drivers.shared())

        def flows() -> None:
            before = query.sink.last_batch()
            until("batches", lambda: _alive(query) and query.sink.last_batch() > before + 2)

        flows()
        assert three.leader(topic, 0) == 1
        faults.freeze_leader(three, topic, flows)
        load.remove("three", topic)
    scene.await_exact(query, ("three", topic))
    assert query.run == 1
    query.stop()


@pytest.mark.test_all
def test_an_unclean_election_under_running_queries(scene: Scene, three: Cluster) -> None:
    """Broker 2 misses records that queries have read, and is elected when broker 1 has died."""
    topic, tolerant = _stream(scene, three, replicas=(1, 2))
    strict = scene.query(scene.metadata("strict", "three", topic=topic), "strict")
    driver = scene.drivers.shared()
    _produce(three, topic, "first", 10)
    for query in (tolerant, strict):
        query.start(driver, failOnDataLoss=str(query is strict).lower())
        _await_rows(query, 10)
    three.node(2).kill()
    try:
        until("broker 1 alone", lambda: three.in_sync(topic, 0) == {1})
        _produce(three, topic, "gone", 10)
        for query in (tolerant, strict):
            _await_rows(query, 20)
        # Two of three controllers have to be there for the election.
        three.node(1).kill()
        three.node(2).restart()
        until("an unclean election", lambda: three.leader(topic, 0) == 2)
        assert three.end_offsets(topic) == {0: 5, 1: 5}
        error = strict.failure()
        assert "DYNAMIC_KAFKA.DATA_LOSS" in error
        assert "'three'" in error
        until("the end of the log", lambda: _alive(tolerant) and _positions(tolerant, topic) == {0: 5, 1: 5})
        _produce(three, topic, "second", 10)
        _await_rows(tolerant, 30)
    finally:
        three.node(1).restart()
    tolerant.settle()
    # Nothing is read again, and nothing of the new log is left out.
    offsets = {"first": range(5), "gone": range(5, 10), "second": range(5, 10)}
    expected = {(kind, p, offset) for kind, part in offsets.items() for offset in part for p in (0, 1)}
    rows = [row for row in tolerant.sink.records().elements() if row.cluster == "three"]
    found = sorted((row.value.split("-")[0], row.partition, row.offset) for row in rows)
    assert found == sorted(expected)
    tolerant.stop()


def _stream(
    scene: Scene, three: Cluster, replicas: tuple[int, ...] = (), preferred: tuple[int, ...] = ()
) -> tuple[str, Query]:
    """A stream on the three brokers and blue, and a query. With `replicas`, one replica is enough for anything."""
    scene.brokers = {**scene.brokers, "three": three}
    topic = scene.topic("blue")
    configs = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"} if replicas else {}
    three.create_topic(topic, 2, configs, replicas or preferred)
    return topic, scene.query(scene.metadata("orders", "three", "blue", topic=topic))


def _produce(cluster: Cluster, topic: str, kind: str, count: int) -> None:
    cluster.produce(topic, [Record(n % 2, None, f"{kind}-{n}") for n in range(count)])


def _await_rows(query: Query, count: int) -> None:
    until(f"{count} rows of {query.name}", lambda: _alive(query) and query.sink.count("three") >= count)


def _positions(query: Query, topic: str) -> dict[int, int]:
    at = positions(query.checkpoint.last())
    return {p: offset for (id, name, p), offset in at.items() if (id, name) == ("three", topic)}


def _alive(query: Query) -> bool:
    query.alive()
    return True
