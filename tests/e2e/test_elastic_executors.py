"""Executors that come and go: dynamic allocation, speculative tasks of reads, and decommissioning."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.harness.pipelines import Pipelines
from tests.harness.standalone import HOSTS, executors, standalone
from tests.harness.waiting import until

CLUSTERS = ("blue", "green")
RECORDS = 40
SMALL = {"maxOffsetsPerTrigger": "200", "maxRecordsPerPartition": "20"}
CONF = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "15s",
    "spark.decommission.enabled": "true",
    # As soon as one of two tasks has finished, the other one counts as slow.
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.interval": "100ms",
}


@pytest.mark.test_all
def test_dynamic_allocation_speculation_and_decommissioning(pipelines: Pipelines) -> None:
    topic = pipelines.topic(*CLUSTERS)
    metadata = pipelines.metadata("read", *CLUSTERS, topic=topic)
    for cluster in CLUSTERS:
        pipelines.produce(cluster, topic, RECORDS)
    topics = [(cluster, topic) for cluster in CLUSTERS]
    folder = pipelines.folder / "spark"
    with standalone(folder) as master:
        driver = pipelines.drivers.configured({"spark.master": master, **CONF})
        query = pipelines.query(metadata, "elastic", **SMALL)

        # One task hangs on the only executor. The others wait, so Spark requests a second executor, which then also
        # reads the range of the hanging task.
        query.begin(driver, fault={"task": "hang", "at": "blue-10"})
        hanging = query.await_hit()
        until("two executors", lambda: len(executors(folder)) == len(HOSTS))
        pipelines.await_exact(query, *topics)
        until("one executor, as nothing is to be read", lambda: len(executors(folder)) == 1)

        # The last executor leaves, and its successor continues.
        (last,) = executors(folder)
        os.kill(last, signal.SIGPWR)
        until("a successor", lambda: _successors(folder, {last, hanging}))
        for cluster in CLUSTERS:
            pipelines.produce(cluster, topic, RECORDS)
        pipelines.await_exact(query, *topics)
        assert query.sink.replayed() == []
        query.stop()

        # An executor that is asked to leave in the middle of a task that writes, exactly once.
        values = pipelines.orders(20)
        writer = pipelines.writer("written")
        with pipelines.watcher(writer):
            writer.begin(driver, fault={"task": "hang", "at": values[-1]})
            leaving = writer.await_hit()
            os.kill(leaving, signal.SIGPWR)
            writer.release_task()
            pipelines.await_written(writer)
            until("the executor has left", lambda: leaving not in executors(folder))
            pipelines.orders(20)
            pipelines.await_written(writer)
            writer.stop()
        driver.kill()


def _successors(folder: Path, gone: set[int]) -> set[int]:
    return executors(folder) - gone
