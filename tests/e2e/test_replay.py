"""A batch that was logged and not finished is read again, although much has changed at the restart."""

from __future__ import annotations

import pytest

from tests.harness.scene import Scene
from tests.harness.waiting import until


@pytest.mark.test_all
def test_a_logged_batch_is_read_again_whatever_was_removed(scene: Scene) -> None:
    topic = scene.topic("blue", "green", "red")
    for cluster in ("blue", "green", "red"):
        scene.produce(cluster, topic, 10)
    removed = scene.metadata("removed", "blue", "green", topic=topic)
    down = scene.metadata("down", "blue", "green", topic=topic)
    dead = scene.metadata("dead", "blue", "red", topic=topic)
    moved = scene.metadata("moved", "blue", "red", topic=topic)
    queries = {
        "moved": scene.query(moved),
        "removed": scene.query(removed),
        "down": scene.query(down, streamMetadataDiscoveryFailureThreshold="100000"),
        "dead": scene.query(dead, clusterRequestTimeoutMs="12000"),
        "skipped": scene.query(dead, "skipped", clusterRequestTimeoutMs="12000", unreachableReplayPolicy="skip"),
    }
    doomed = scene.drivers.doomed()
    for query in queries.values():
        query.begin(doomed, fault={"when": "before", "batch": 0})
    for query in queries.values():
        query.await_event("stuck")
    doomed.kill()

    removed.without("removed", "green").write()
    down.remove()
    dead.without("dead", "red").write()
    scene.produce("green", topic, 4)
    scene.brokers["red"].kill()
    shared = scene.drivers.shared()
    try:
        for name in ("removed", "down", "dead", "skipped"):
            queries[name].begin(shared)

        # Read again, but nothing more until the cluster is added again.
        query = queries["removed"]
        first = query.sink.tries(0)[0]
        assert {row.cluster for row in first} == {"blue", "green"}
        until("green is retained", lambda: "green" in query.checkpoint.last().get("retained", {}))
        scene.await_exact(
            query, ("blue", topic), ("green", topic), wanted=lambda r: r.cluster == "blue" or r in first
        )
        removed.set_entry("removed", "green", [topic]).write()
        scene.await_exact(query, ("blue", topic), ("green", topic))

        # The checkpoint's topology is used, for new records as well.
        scene.produce("blue", topic, 4)
        scene.await_exact(queries["down"], ("blue", topic), ("green", topic))

        error = queries["dead"].failure()
        assert "DYNAMIC_KAFKA.UNREACHABLE_REPLAY" in error
        assert "'red'" in error
        assert "unreachableReplayPolicy" in error

        skipped = queries["skipped"]
        scene.produce("blue", topic, 4)
        until("blue is read", lambda: skipped.sink.records().total() == _count(scene, "blue", topic))
        assert {row.cluster for row in skipped.sink.records()} == {"blue"}
        assert "are lost" in shared.log()
    finally:
        scene.brokers["red"].restart()
    query = queries["dead"]
    first = query.sink.tries(0)[0]
    query.begin(shared)
    scene.await_exact(query, ("blue", topic), ("red", topic), wanted=lambda r: r.cluster == "blue" or r in first)
    assert query.sink.replayed() == [0]

    scene.brokers["red"].restart_on_new_port()
    moved.cluster("red", scene.brokers["red"].bootstrap_servers).write()
    queries["moved"].begin(shared)
    scene.await_exact(queries["moved"], ("blue", topic), ("red", topic))
    assert all(query.sink.replayed() == [0] for query in queries.values())


def _count(scene: Scene, cluster: str, topic: str) -> int:
    return sum(scene.brokers[cluster].end_offsets(topic).values())
