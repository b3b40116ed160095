"""A metadata service that is down, slow, or returns invalid answers while a query runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.harness.load import Load
from tests.harness.query import Query
from tests.harness.scene import PARTITIONS, Scene
from tests.harness.waiting import until


@pytest.mark.test_all
def test_invalid_answers_and_outages_remove_nothing(scene: Scene) -> None:
    topic = scene.topic("blue", "green")
    both = (("blue", topic), ("green", topic))
    metadata = scene.metadata("orders", "blue", "green", topic=topic)
    whole = metadata.path.read_text()
    query = scene.query(metadata, streamMetadataDiscoveryFailureThreshold="100000")
    query.start(scene.drivers.shared())
    scene.produce("blue", topic, 2)
    scene.await_exact(query, *both)

    nonsense = {
        "garbage": "\x00\x01{]not: [yaml",
        "truncated": whole[: len(whole) // 2],
        "empty": "",
        "null": "null",
        "no streams": '{"version": 1, "clusters": {}, "streams": {}}',
        "other version": whole.replace('"version": 1', '"version": 99'),
        "gone": None,
    }
    for what, text in nonsense.items():
        print(what)
        if text is None:
            metadata.remove()
        else:
            metadata.write_text(text)
        _await_failures(scene, query, topic, at_least=2)
        scene.produce("green", topic, 2)
        scene.await_exact(query, *both)
        metadata.write()
        _await_failures(scene, query, topic, at_least=0)
    scene.await_exact(query, *both)
    assert query.checkpoint.last().keys() == {"version", "clusters", "identities"}


@pytest.mark.test_all
def test_flapping_and_rewrites_in_place_have_no_effect(scene: Scene) -> None:
    topic = scene.topic("blue", "green")
    both = (("blue", topic), ("green", topic))
    metadata = scene.metadata("orders", "blue", "green", topic=topic)
    query = scene.query(metadata, streamMetadataDiscoveryFailureThreshold="100000")
    query.start(scene.drivers.shared(), streamMetadataDiscoveryIntervalMs="100")
    with Load(dict(scene.brokers)) as load:
        for cluster, _ in both:
            load.add(cluster, topic, PARTITIONS)
        until("both clusters", lambda: {row.cluster for row in query.sink.records()} == {"blue", "green"})
        for _ in range(4):
            metadata.without("orders", "green").write()
            until("green leaves", lambda: "green" in query.checkpoint.last().get("retained", {}))
            metadata.set_entry("orders", "green", [topic]).write()
            until("green is back", lambda: "green" in query.checkpoint.last()["clusters"])
        for _ in range(4):
            rows = query.sink.count()
            with metadata.half_written():
                until("data flows", partial(_has_more, query, rows))
    scene.await_exact(query, *both)
    assert query.run == 1


@pytest.mark.test_all
def test_too_many_failures_fail_the_query_and_nothing_is_lost(scene: Scene) -> None:
    topic = scene.topic("blue")
    metadata = scene.metadata("orders", "blue", topic=topic)
    scene.produce("blue", topic, 4)
    query = scene.query(metadata, streamMetadataDiscoveryFailureThreshold="3")
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic))
    metadata.remove()
    assert "DYNAMIC_KAFKA.METADATA_UNAVAILABLE" in query.failure()
    scene.produce("blue", topic, 4)
    # The service is down at the restart: the checkpoint's topology is used until the threshold is exceeded.
    query.begin(scene.drivers.shared(), streamMetadataDiscoveryIntervalMs="6000")
    scene.await_exact(query, ("blue", topic))
    assert "DYNAMIC_KAFKA.METADATA_UNAVAILABLE" in query.failure()
    metadata.write()
    scene.produce("blue", topic, 4)
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic))


@pytest.mark.test_all
def test_a_service_that_takes_30_seconds_does_not_delay_queries(scene: Scene) -> None:
    topic = scene.topic("blue", "green")
    both = (("blue", topic), ("green", topic))
    metadata = scene.metadata("orders", "blue", topic=topic)
    slow = Path(f"{metadata.path}.slow")
    query = scene.query(metadata, service="python")
    query.start(scene.drivers.shared())
    scene.produce("blue", topic, 2)
    scene.await_exact(query, ("blue", topic))
    slow.write_text("30")
    until("a slow call", slow.with_suffix(".called").exists)
    metadata.set_entry("orders", "green", [topic]).write()
    scene.produce("green", topic, 4)
    before = len(query.progress())
    for _ in range(10):
        scene.produce("blue", topic, 2)
        scene.await_exact(query, ("blue", topic))
    took = [progress["durationMs"]["triggerExecution"] for progress in query.progress()[before:]]
    assert max(took) < 15000, took
    slow.unlink()
    scene.await_exact(query, *both)


def _has_more(query: Query, rows: int) -> bool:
    query.alive()
    return query.sink.count() > rows


def _await_failures(scene: Scene, query: Query, topic: str, at_least: int) -> None:
    """Wait for this many failures, or for none if it is 0. Batches are kept running, because they report metrics."""

    def look() -> bool:
        query.alive()
        scene.produce("blue", topic, 2)
        failures = int(query.metric("metadataFailures") or 0)
        return failures >= at_least if at_least else failures == 0

    until(f"{at_least} metadata failures", look)
