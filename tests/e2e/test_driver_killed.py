"""A driver that is killed with SIGKILL, and the restart after it."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from tests.harness.query import Query
from tests.harness.scene import Scene, positions, since
from tests.harness.seed import seed
from tests.harness.waiting import until

SLOWLY = {"maxOffsetsPerTrigger": "15"}


@pytest.mark.test_all
def test_between_offset_log_and_commit_log(scene: Scene) -> None:
    topic = scene.topic("blue", "green")
    metadata = scene.metadata("orders", "blue", "green", topic=topic)
    for cluster in ("blue", "green"):
        scene.produce(cluster, topic, 15)
    faults: dict[str, dict[str, Any]] = {
        "first-sink-open": {"when": "before", "batch": 0},
        "first-sink-done": {"when": "after", "batch": 0},
        "later-sink-open": {"when": "before", "batch": 1},
        "later-sink-done": {"when": "after", "batch": 1},
    }
    queries = {name: scene.query(metadata, name, **SLOWLY) for name in faults}
    doomed = scene.drivers.doomed()
    for name, query in queries.items():
        query.begin(doomed, fault=faults[name])
    for query in queries.values():
        query.await_event("stuck")
    doomed.kill()

    scene.produce("blue", topic, 7)
    stuck_at = {name: fault["batch"] for name, fault in faults.items()}
    for name, query in queries.items():
        assert query.checkpoint.unfinished() == [stuck_at[name]]
        query.begin(scene.drivers.shared())
    for name, query in queries.items():
        scene.await_exact(query, ("blue", topic), ("green", topic))
        assert query.sink.replayed() == [stuck_at[name]]
        first, second = query.sink.tries(stuck_at[name])
        # At most, because a cluster that responds late is left out of a batch.
        assert 0 < len(first) <= 15
        assert first == second


@pytest.mark.test_all
def test_a_start_at_latest_is_kept_when_batch_0_is_not(scene: Scene) -> None:
    topic = scene.topic("blue")
    metadata = scene.metadata("orders", "blue", topic=topic)
    scene.produce("blue", topic, 6)
    query = scene.query(metadata, startingOffsets="latest")
    doomed = scene.drivers.doomed()
    query.start(doomed, fault={"when": "before", "batch": 1})
    # Batch 0 has no rows; the query is at the end offsets of its start.
    until("batch 0", lambda: query.checkpoint.committed() == [0])
    start = positions(query.checkpoint.last())
    scene.produce("blue", topic, 4)
    query.await_event("stuck")
    # The driver kills itself when the test is gone.
    doomed.abandon()
    scene.produce("blue", topic, 4)
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic), wanted=since(start))
    assert query.sink.records().total() == 8


@pytest.mark.test_all
def test_a_group_is_never_ahead_of_finished_batches(scene: Scene) -> None:
    topic = scene.topic("blue", "green")
    group = f"group-{topic}"
    metadata = scene.metadata("orders", "blue", "green", topic=topic)
    for cluster in ("blue", "green"):
        scene.produce(cluster, topic, 30)
    query = scene.query(metadata, commitOffsets="true", commitGroupId=group, **SLOWLY)
    doomed = scene.drivers.doomed()
    query.begin(doomed, fault={"when": "after", "batch": 2})
    query.await_event("stuck")
    finished = positions(query.checkpoint.offsets()[1])

    def committed() -> dict[tuple[str, str, int], int]:
        return {
            (cluster, name, partition): at
            for cluster in ("blue", "green")
            for name, offsets in scene.brokers[cluster].committed_offsets(group).items()
            for partition, at in offsets.items()
        }

    until("the group is where batch 1 ends", lambda: committed() == finished)
    # The sink has the rows of batch 2, but Spark's commit log does not have the batch.
    doomed.kill()
    assert query.checkpoint.unfinished() == [2]
    assert committed() == finished
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic), ("green", topic))
    until("the group is at the end", lambda: committed() == positions(query.checkpoint.last()))


@pytest.mark.test_all
def test_while_a_cluster_is_discovered(scene: Scene) -> None:
    """Five queries are at different steps of the discovery when their driver is killed."""
    topic = scene.topic("blue", "green")
    scene.produce("blue", topic, 10)
    metadata = scene.metadata("orders", "blue", topic=topic)
    discovering = scene.query(metadata, "discovering")
    written = scene.query(metadata, "written")
    at_random = [scene.query(metadata, f"random-{i}", newClusterStartingOffsets="latest") for i in range(3)]
    doomed = scene.drivers.doomed()
    discovering.begin(doomed, fault={"when": "before", "cluster": "green"})
    written.begin(doomed, fault={"when": "after", "cluster": "green"})
    for i, query in enumerate(at_random):
        query.begin(doomed, streamMetadataDiscoveryIntervalMs=str(50 + 150 * i))
    for query in (discovering, written, *at_random):
        query.await_event("batch")

    scene.produce("green", topic, 10)
    metadata.set_entry("orders", "green", [topic]).write()
    lucky = random.Random(seed()).choice(at_random)
    until(f"{lucky.name} reads green", partial(_reads, lucky, "green"))
    for query in (discovering, written):
        query.await_event("stuck")
    doomed.kill()

    entered = {query.name: _entered(query, "green") for query in at_random}
    scene.produce("green", topic, 5)
    scene.produce("blue", topic, 5)
    for query in (discovering, written, *at_random):
        query.begin(scene.drivers.shared())
    for query in (discovering, written):
        scene.await_exact(query, ("blue", topic), ("green", topic))
        assert len(query.sink.replayed()) == 1
    for query in at_random:
        until(f"{query.name} reads green", partial(_reads, query, "green"))
        start = _entered(query, "green")
        # What the killed driver had logged remains valid.
        assert entered[query.name] in ({}, start)
        start |= {("blue", topic, 0): 0, ("blue", topic, 1): 0}
        scene.await_exact(query, ("blue", topic), ("green", topic), wanted=since(start))
    assert entered[lucky.name] == {("green", topic, 0): 5, ("green", topic, 1): 5}


def _reads(query: Query, cluster: str) -> bool:
    return cluster in query.checkpoint.last()["clusters"]


def _entered(query: Query, cluster: str) -> dict[tuple[str, str, int], int]:
    logged = query.checkpoint.offsets().values()
    return {at: offset for o in logged for at, offset in positions(o, "entered").items() if at[0] == cluster}
