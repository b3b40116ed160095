"""Executors that are killed and frozen in the middle of a task that reads."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.harness.driver_process import DriverProcess
from tests.harness.load import Load
from tests.harness.query import Query
from tests.harness.scene import Scene
from tests.harness.standalone import COMPLETE, SEVERAL_TASKS, standalone
from tests.harness.waiting import until

CLUSTERS = ("blue", "green")
RECORDS = 40
# An executor that does not respond is given up after this time, and its tasks run elsewhere. Not much less: a busy
# machine would lose executors that are well.
PATIENCE = {
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "2s",
}


@pytest.mark.test_all
def test_a_reading_query_with_executors_that_are_killed_and_frozen(scene: Scene) -> None:
    topic, metadata = scene.filled("orders", *CLUSTERS, records=RECORDS)
    queries = {
        name: scene.query(metadata, name, **SEVERAL_TASKS)
        for name in ("killed", "thawed-in-time", "thawed-too-late")
    }
    # A machine that is busy with faults must be able to keep pace.
    brokers = {name: scene.brokers[name] for name in CLUSTERS}
    with standalone(scene.folder / "spark") as spark, Load(brokers, pause_s=1.0, records=2) as load:
        driver = spark.driver(scene.drivers, COMPLETE, PATIENCE)
        for cluster in CLUSTERS:
            load.add(cluster, topic, 2)
        killed, in_time, too_late = queries.values()

        with _hanging(killed, driver) as executor:
            os.kill(executor, signal.SIGKILL)
            _await_end_of_batch(killed)

        with _hanging(in_time, driver) as executor:
            os.kill(executor, signal.SIGSTOP)
            in_time.release_task()
            os.kill(executor, signal.SIGCONT)
            _await_end_of_batch(in_time)

        with _hanging(too_late, driver) as executor:
            os.kill(executor, signal.SIGSTOP)
            # The other executor reads the range, and the frozen one continues where it was, if it is thawed.
            _await_end_of_batch(too_late)
            too_late.release_task()
            _thaw(executor)
            _await_end_of_batch(too_late)
        assert "Executor heartbeat timed out" in driver.log()

        for cluster in CLUSTERS:
            load.remove(cluster, topic)
        for query in queries.values():
            scene.await_exact(query, *((cluster, topic) for cluster in CLUSTERS))
            # The second attempt of a task is within the same batch.
            assert query.sink.replayed() == []
        for query in queries.values():
            query.stop()
        driver.kill()


@contextmanager
def _hanging(query: Query, driver: DriverProcess) -> Iterator[int]:
    """Start a query; yields the process of the executor that hangs in the middle of its first batch."""
    query.begin(driver, fault={"task": "hang", "at": "blue-10"})
    yield query.await_hit()
    query.alive()


def _await_end_of_batch(query: Query) -> None:
    before = query.sink.last_batch()

    def look() -> bool:
        query.alive()
        return query.sink.last_batch() > before

    until(f"another batch of {query.name}", look)


def _thaw(executor: int) -> None:
    try:
        os.kill(executor, signal.SIGCONT)
    except ProcessLookupError:
        pass  # Its worker has killed it.
