"""A session with Spark's delegation tokens. DelegationTokensSuite reads a cluster with one."""

from __future__ import annotations

import pytest

from tests.harness.scene import Scene


@pytest.mark.test_all
def test_a_token_for_another_cluster_changes_nothing(scene: Scene) -> None:
    topic = scene.topic("blue", "green")
    metadata = scene.metadata("orders", "blue", "green", topic=topic)
    query = scene.query(metadata, maxOffsetsPerTrigger="7")
    driver = scene.drivers.configured({"spark.kafka.clusters.other.auth.bootstrap.servers": "127.0.0.1:1"})
    query.start(driver)
    for _ in range(2):
        for cluster in ("blue", "green"):
            scene.produce(cluster, topic, 20)
        scene.await_exact(query, ("blue", topic), ("green", topic))
    driver.kill()
