"""Brokers that are killed, frozen or moved while queries read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.harness.query import Query
from tests.harness.scene import Scene
from tests.harness.waiting import DEADLINE_S, until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

TIMEOUT_MS = 15000
# Allows for a busy machine. Less than the limit, so that one delay is distinguished from two.
SLACK_MS = 14000
OUTAGES: dict[str, tuple[Callable[[Cluster], None], Callable[[Cluster], None]]] = {
    "killed": (lambda broker: broker.kill(), lambda broker: broker.restart()),
    "frozen": (lambda broker: broker.freeze(), lambda broker: broker.thaw()),
}


@pytest.mark.test_all
@pytest.mark.parametrize("outage", OUTAGES)
def test_skip_continues_and_fail_names_the_cluster(scene: Scene, outage: str) -> None:
    topic = scene.topic("blue", "red")
    both = (("blue", topic), ("red", topic))
    metadata = scene.metadata("orders", "blue", "red", topic=topic)
    skip = scene.query(metadata, "skip", clusterFailurePolicy="skip", clusterRequestTimeoutMs=str(TIMEOUT_MS))
    fail = scene.query(metadata, "fail", clusterRequestTimeoutMs=str(TIMEOUT_MS))
    impatient = scene.query(
        metadata,
        "impatient",
        clusterFailurePolicy="skip",
        clusterFailureTimeoutMs="1500",
        clusterRequestTimeoutMs=str(TIMEOUT_MS),
    )
    shared = scene.drivers.shared()
    for cluster in ("blue", "red"):
        scene.produce(cluster, topic, 10)
    for query in (skip, fail, impatient):
        query.begin(shared)
    for query in (skip, fail, impatient):
        scene.await_exact(query, *both)

    begin, end = OUTAGES[outage]
    before = len(skip.progress())
    begin(scene.brokers["red"])
    try:
        for query in (fail, impatient):
            error = query.failure()
            assert "DYNAMIC_KAFKA.CLUSTER_UNREACHABLE" in error
            assert "'red'" in error
        _blue_flows_until(scene, skip, topic, lambda: skip.metric("unreachableClusters") == "1")
        # The outage delays one trigger; later triggers do not query the unreachable cluster.
        done = len(skip.progress())
        _blue_flows_until(scene, skip, topic, lambda: len(skip.progress()) >= done + 5)
        delays = [p["durationMs"].get("latestOffset", 0) for p in skip.progress()[before:]]
        assert max(delays) <= TIMEOUT_MS + SLACK_MS, delays
        assert sum(delay > TIMEOUT_MS / 2 for delay in delays) <= 1, delays
    finally:
        end(scene.brokers["red"])
    scene.produce("red", topic, 6)
    _blue_flows_until(scene, skip, topic, lambda: skip.metric("unreachableClusters") == "0")
    fail.begin(shared)
    for query in (skip, fail):
        scene.await_exact(query, *both)
    assert skip.run == 1
    for cluster in ("blue", "red"):
        assert skip.metric(f"eventTimeLagMs.{cluster}") == "0"
        assert skip.metric(f"eventTimeDriftMs.{cluster}") == "0"


def test_a_cluster_moves_while_it_is_queried(scene: Scene) -> None:
    """The old address does not respond, then is closed, before the metadata contains the new one."""
    topic = scene.topic("blue", "red")
    both = (("blue", topic), ("red", topic))
    metadata = scene.metadata("orders", "blue", "red", topic=topic)
    # Longer than a test waits: neither does the query end before the metadata has the new address, nor does it wait for
    # the old one afterwards.
    query = scene.query(metadata, clusterRequestTimeoutMs=str(int(2 * DEADLINE_S * 1000)))
    scene.produce("red", topic, 10)
    query.start(scene.drivers.shared())
    scene.await_exact(query, *both)
    red = scene.brokers["red"]
    red.freeze()
    try:
        # Blue is read meanwhile, since no trigger waits for red.
        _blue_flows_until(scene, query, topic, lambda: int(query.metric("snapshotAgeMs.red") or 0) > 3000)
    finally:
        red.restart_on_new_port()
    scene.produce("red", topic, 6)
    metadata.cluster("red", red.bootstrap_servers).write()
    scene.produce("blue", topic, 2)
    scene.await_exact(query, *both)
    scene.produce("red", topic, 2)
    scene.await_exact(query, *both)
    assert query.run == 1


def _blue_flows_until(scene: Scene, query: Query, topic: str, seen: Callable[[], bool]) -> None:
    """Keep batches running, since only batches report progress."""

    def look() -> bool:
        query.alive()
        wanted = _count(scene, topic)
        if _read(query) >= wanted:
            scene.produce("blue", topic, 2)
        return seen()

    until("progress while blue is read", look)
    until("blue's records", lambda: _read(query) >= _count(scene, topic))


def _read(query: Query) -> int:
    return query.sink.count("blue")


def _count(scene: Scene, topic: str) -> int:
    return sum(scene.brokers["blue"].end_offsets(topic).values())
