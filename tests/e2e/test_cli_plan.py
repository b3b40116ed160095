"""`plan` says what the next batch of a real query does, and the query then does it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.command import command
from tests.harness.query import Query
from tests.harness.scene import Scene


def plan(query: Query, file: object) -> tuple[int, Any]:
    done = command("plan", query.checkpoint.folder, file, "--timeout", "30", "--json")
    assert done.exit_code == 1 or done.stdout, done.stderr
    return done.exit_code, done.json or done.stderr


@pytest.mark.test_all
def test_a_move_and_a_removal(scene: Scene) -> None:
    topic = scene.topic("blue", "red", "green")
    metadata = scene.metadata("orders", "blue", "red", topic=topic)
    query = scene.query(metadata)
    scene.produce("blue", topic, 4)
    scene.produce("red", topic, 4)
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic), ("red", topic))
    query.stop()
    scene.produce("blue", topic, 6)
    scene.produce("green", topic, 2)

    # Nothing changes: the next batch reads what is new.
    code, found = plan(query, metadata.path)
    assert code == 0, found
    assert found["enters"] == found["drains"] == found["leaves"] == []
    assert found["next_batch"] == {"records": 6, "clusters": {"blue": 6, "red": 0}}
    assert found["lost"] == {"records": 0, "bytes": 0, "bytes_estimated": True}

    # Without a drain, unread records are lost.
    metadata.without("orders", "blue").write()
    code, found = plan(query, metadata.path)
    assert code == 2
    assert found["lost"]["records"] == 6
    assert found["lost"]["bytes"] > 0
    assert {(one["cluster"], one["topic"]) for one in found["leaves"]} == {("blue", topic)}
    assert sum(one["records"] for one in found["leaves"]) == 6

    # A move: blue drains, green enters. The query does what the plan says.
    green = scene.brokers["green"].bootstrap_servers
    metadata.cluster("green", green).set_entry("orders", "green", [topic])
    metadata.set_entry("orders", "blue", [topic], state="draining").write()
    code, found = plan(query, metadata.path)
    assert (code, found["leaves"], found["rights"]) == (0, [], [])
    assert [(one["cluster"], one["position"], one["by"]) for one in found["enters"]] == [
        ("green", 0, "earliest"),
        ("green", 0, "earliest"),
    ]
    assert sum(one["target"] - one["position"] for one in found["drains"]) == 6
    assert found["next_batch"] == {"records": 8, "clusters": {"blue": 6, "green": 2, "red": 0}}
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic), ("red", topic), ("green", topic))
    query.stop()


@pytest.mark.test_all
def test_the_options_of_the_query(scene: Scene) -> None:
    topic, other = scene.topic("blue"), scene.topic("blue", "red")
    metadata = scene.metadata("orders", "blue", topic=topic)
    query = scene.query(
        metadata,
        removedClusterPolicy="drain",
        newClusterStartingOffsets="latest",
        maxOffsetsPerTrigger="5",
        **{"cluster.blue.startingOffsets": "earliest"},
    )
    scene.produce("blue", topic, 4)
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic))
    query.stop()
    scene.produce("blue", topic, 8)
    scene.produce("red", other, 6)

    # The topic of blue is removed, and red is new.
    metadata.cluster("red", scene.brokers["red"].bootstrap_servers).set_entry("orders", "red", [other])
    metadata.set_entry("orders", "blue", [other]).write()
    code, found = plan(query, metadata.path)
    assert (code, found["leaves"], found["assumed"]) == (0, [], []), found
    drained = [one for one in found["drains"] if one["topic"] == topic]
    assert sum(one["target"] - one["position"] for one in drained) == 8
    assert {(one["cluster"], one["by"]) for one in found["enters"]} == {("blue", "earliest"), ("red", "latest")}
    assert sum(one["position"] for one in found["enters"]) == 6
    assert found["next_batch"] == {"records": 5, "clusters": {"blue": 5, "red": 0}}

    # The query does what the plan says.
    scene.produce("blue", other, 2)
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic), ("blue", other))
    sizes = [progress["numInputRows"] for progress in query.progress()]
    assert max(sizes) == 5, sizes
    query.stop()


@pytest.mark.test_all
def test_what_cannot_be_told(scene: Scene) -> None:
    topic = scene.topic("blue")
    metadata = scene.metadata("orders", "blue", topic=topic)
    query = scene.query(metadata)
    scene.produce("blue", topic, 2)
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic))
    query.stop()

    other = scene.metadata("payments", "blue", topic=topic)
    code, reason = plan(query, other.path)
    assert code == 1
    assert "orders" in reason and "allowMissingStreams" in reason
    # Another Kafka cluster under the id.
    metadata.cluster("blue", scene.brokers["red"].bootstrap_servers).write()
    code, reason = plan(query, metadata.path)
    assert code == 1
    assert "cluster 'blue' is another Kafka cluster" in reason
    metadata.cluster("blue", "127.0.0.1:1").write()
    code, reason = plan(query, metadata.path)
    assert code == 1
    assert "cluster 'blue'" in reason
