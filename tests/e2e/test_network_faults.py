"""A network that fails for some processes only, half-open connections, and slow links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.harness.load import Load
from tests.harness.metadata import MetadataFile
from tests.harness.query import Query
from tests.harness.scene import Scene
from tests.harness.standalone import COMPLETE, HOSTS, standalone
from tests.harness.waiting import until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Testkit

ADDRESS = "BROKERS_OF_FAR"
REFERENCE = f"${{env:{ADDRESS}}}"
RECORDS = 40
OPTIONS = {"clusterFailurePolicy": "skip", "clusterRequestTimeoutMs": "10000", "maxOffsetsPerTrigger": "200"}
# Every packet is lost and connections stay open, or connections are reset.
FAULTS: dict[str, Callable[[Cluster], None]] = {
    "half-open": lambda cluster: cluster.pause_network(),
    "reset": lambda cluster: cluster.cut_network(),
}
ROUND_TRIP_MS = 200


@pytest.fixture
def far(testkit: Testkit) -> Iterator[Cluster]:
    """A cluster behind a proxy, which only those pass who connect to `bootstrap_servers`."""
    with testkit.start("far", round_trip_ms=0) as cluster:
        yield cluster


@pytest.mark.test_all
@pytest.mark.parametrize("fault", FAULTS)
def test_the_driver_is_cut_from_a_cluster_that_executors_reach(
    scene: Scene, far: Cluster, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    topic, query = _stream(scene, far)
    monkeypatch.setenv(ADDRESS, far.bootstrap_servers)
    with standalone(scene.folder / "spark", {host: {ADDRESS: far.direct_servers} for host in HOSTS}) as spark:
        driver = spark.driver(scene.drivers, COMPLETE)
        query.begin(driver, fault={"task": "hang", "at": f"far-{RECORDS + 10}"})
        query.await_hit()
        FAULTS[fault](far)
        try:
            # The batch has been planned, and executors do not depend on the driver's connections.
            query.release_task()
            until("the batch with far's records", lambda: _alive(query) and query.sink.count("far") == RECORDS)
            scene.produce("far", topic, RECORDS)
            _blue_flows_until(scene, query, topic, lambda: query.metric("unreachableClusters") == "1")
            assert query.sink.count("far") == RECORDS
        finally:
            far.resume_network()
        scene.await_exact(query, ("blue", topic), ("far", topic))
        query.stop()
        driver.kill()


@pytest.mark.test_all
def test_executors_are_cut_from_a_cluster_that_the_driver_reaches(
    scene: Scene, far: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, query = _stream(scene, far)
    monkeypatch.setenv(ADDRESS, far.direct_servers)
    with standalone(scene.folder / "spark", {host: {ADDRESS: far.bootstrap_servers} for host in HOSTS}) as spark:
        driver = spark.driver(scene.drivers, COMPLETE)
        query.start(driver)
        scene.await_exact(query, ("blue", topic), ("far", topic))
        for fault in FAULTS.values():
            fault(far)
            try:
                before = query.sink.count("far")
                scene.produce("far", topic, RECORDS)
                # The driver sees no outage, so the batch with these records is planned.
                until("a batch that waits", lambda: _alive(query) and bool(query.checkpoint.unfinished()))
                assert query.sink.count("far") == before
            finally:
                far.resume_network()
            scene.await_exact(query, ("blue", topic), ("far", topic))
        assert query.sink.replayed() == []
        query.stop()
        driver.kill()


@pytest.mark.test_all
def test_a_slow_link(scene: Scene, testkit: Testkit) -> None:
    """200 ms to one of two clusters, and its connections become half-open and are reset."""
    with testkit.start("far", round_trip_ms=ROUND_TRIP_MS) as far:
        topic, query = _stream(scene, far, far.bootstrap_servers)
        with Load({"blue": scene.brokers["blue"], "far": far}) as load:
            for cluster in ("blue", "far"):
                load.add(cluster, topic, 2)
            query.start(scene.drivers.shared())
            _await_batches(query, 10)
            assert query.metric("unreachableClusters") == "0"
            for fault in FAULTS.values():
                # A task that reads while its connection hangs fails after `spark.network.timeout`, with the query.
                load.remove("far", topic)
                _await_count(query, "far", sum(far.end_offsets(topic).values()))
                fault(far)
                try:
                    until("the outage", lambda: _alive(query) and query.metric("unreachableClusters") == "1")
                    _await_batches(query, 3)
                finally:
                    far.resume_network()
                until(
                    "the end of the outage", lambda: _alive(query) and query.metric("unreachableClusters") == "0"
                )
                load.add("far", topic, 2)
            for cluster in ("blue", "far"):
                load.remove(cluster, topic)
        scene.await_exact(query, ("blue", topic), ("far", topic))
        assert query.run == 1
        query.stop()


def _stream(scene: Scene, far: Cluster, address: str = REFERENCE) -> tuple[str, Query]:
    """A stream with records on two clusters, and a query."""
    scene.brokers = {**scene.brokers, "far": far}
    topic = scene.topic("blue", "far")
    for cluster in ("blue", "far"):
        scene.produce(cluster, topic, RECORDS)
    metadata: MetadataFile = scene.metadata("orders", "blue", "far", topic=topic)
    metadata.cluster("far", address).write()
    return topic, scene.query(metadata, **OPTIONS)


def _await_batches(query: Query, count: int) -> None:
    before = query.sink.last_batch()
    until(f"{count} batches", lambda: _alive(query) and query.sink.last_batch() >= before + count)


def _await_count(query: Query, cluster: str, count: int) -> None:
    until(f"{count} records of {cluster}", lambda: _alive(query) and query.sink.count(cluster) == count)


def _blue_flows_until(scene: Scene, query: Query, topic: str, seen: Callable[[], bool]) -> None:
    """Keep batches running, since only batches report progress."""

    def look() -> bool:
        _alive(query)
        if query.sink.count("blue") >= sum(scene.brokers["blue"].end_offsets(topic).values()):
            scene.produce("blue", topic, 2)
        return seen()

    until("progress while blue is read", look)


def _alive(query: Query) -> bool:
    query.alive()
    return True
