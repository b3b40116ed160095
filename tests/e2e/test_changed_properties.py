"""Clusters whose address or properties change under the same id."""

from __future__ import annotations

from functools import partial

import pytest

from tests.harness.driver_process import DriverProcess
from tests.harness.scene import Scene
from tests.harness.waiting import until


@pytest.mark.test_all
def test_new_settings_with_a_group_id_of_the_user(scene: Scene) -> None:
    """Executors cache consumers by group id and topic partition, which are equal for both clusters here."""
    topic = scene.topic("blue", "green")
    both = (("blue", topic), ("green", topic))
    metadata = scene.metadata("orders", "blue", "green", topic=topic)
    query = scene.query(metadata, **{"kafka.group.id": "shared-by-all"})
    driver = scene.drivers.shared()
    mark = len(driver.log())
    query.start(driver)
    for cluster in ("blue", "green"):
        scene.produce(cluster, topic, 4)
    scene.await_exact(query, *both)
    changes: tuple[dict[str, str], ...] = (
        {"client_id": "renamed"},
        {"client_id": "renamed", "fetch_min_bytes": "2", "max_poll_records": "3"},
        {},
    )
    for number, properties in enumerate(changes, start=2):
        green = scene.brokers["green"]
        metadata.cluster("green", green.bootstrap_servers, **properties).write()
        until(f"topology {number}", partial(_logs, driver, f"Topology {number} of", mark))
        for cluster in ("blue", "green"):
            scene.produce(cluster, topic, 4)
        scene.await_exact(query, *both)
    assert query.run == 1
    assert "same cache key" not in driver.log()


def _logs(driver: DriverProcess, text: str, since: int) -> bool:
    return text in driver.log()[since:]


@pytest.mark.test_all
def test_a_cluster_leaves_with_lag_and_returns_to_another_driver(scene: Scene) -> None:
    topic = scene.topic("blue", "green")
    both = (("blue", topic), ("green", topic))
    metadata = scene.metadata("orders", "blue", "green", topic=topic)
    query = scene.query(metadata, maxOffsetsPerTrigger="4")
    for cluster in ("blue", "green"):
        scene.produce(cluster, topic, 40)
    doomed = scene.drivers.doomed()
    query.begin(doomed)
    query.await_event("batch")
    metadata.without("orders", "green").write()
    until("green is retained", lambda: "green" in query.checkpoint.last().get("retained", {}))
    retained = query.checkpoint.last()["retained"]["green"]["topics"][topic]
    assert sum(retained["offsets"].values()) < 40
    scene.produce("green", topic, 10)
    doomed.kill()
    scene.produce("green", topic, 10)
    query.begin(scene.drivers.shared(), maxOffsetsPerTrigger="1000")
    until("all of blue", lambda: "blue-39" in query.sink.values())
    assert query.checkpoint.last()["retained"]["green"]["topics"][topic] == retained
    metadata.set_entry("orders", "green", [topic]).write()
    scene.await_exact(query, *both)
