"""With delegation tokens, Spark's own reader is used: only its consumers can authenticate with them."""

from __future__ import annotations

from tests.harness.scene import Scene

SPARKS = "using Spark's Kafka reader"


def test_sparks_reader_is_used_with_tokens(scene: Scene) -> None:
    topic = scene.topic("blue", "green")
    metadata = scene.metadata("orders", "blue", "green", topic=topic)
    query = scene.query(metadata, maxOffsetsPerTrigger="7")
    driver = scene.drivers.configured({"spark.kafka.clusters.other.auth.bootstrap.servers": "127.0.0.1:1"})
    query.start(driver)
    for _ in range(2):
        for cluster in ("blue", "green"):
            scene.produce(cluster, topic, 20)
        scene.await_exact(query, ("blue", topic), ("green", topic))
    assert SPARKS in driver.log()
    driver.kill()


def test_the_connectors_reader_is_used_without_tokens(scene: Scene) -> None:
    topic = scene.topic("blue")
    query = scene.query(scene.metadata("orders", "blue", topic=topic))
    driver = scene.drivers.shared()
    mark = len(driver.log())
    query.start(driver)
    scene.produce("blue", topic, 4)
    scene.await_exact(query, ("blue", topic))
    assert SPARKS not in driver.log()[mark:]
    query.stop()
