"""Executors that come and go: dynamic allocation, speculative tasks of reads, and decommissioning."""

from __future__ import annotations

import os
import signal

import pytest

from tests.harness.pipelines import Pipelines
from tests.harness.standalone import HOSTS, SEVERAL_TASKS, SPECULATION, Standalone, standalone
from tests.harness.waiting import until

CLUSTERS = ("blue", "green")
RECORDS = 40
CONF = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "2",
    "spark.dynamicAllocation.schedulerBacklogTimeout": "1s",
    "spark.dynamicAllocation.executorIdleTimeout": "15s",
    "spark.decommission.enabled": "true",
}


@pytest.mark.test_all
def test_dynamic_allocation_speculation_and_decommissioning(pipelines: Pipelines) -> None:
    topic, metadata = pipelines.filled("read", *CLUSTERS, records=RECORDS)
    topics = [(cluster, topic) for cluster in CLUSTERS]
    with standalone(pipelines.folder / "spark") as spark:
        driver = spark.driver(pipelines.drivers, CONF, SPECULATION)
        query = pipelines.query(metadata, "elastic", **SEVERAL_TASKS)

        # One task hangs on the only executor. The others wait, so Spark requests a second executor, which then also
        # reads the range of the hanging task.
        query.begin(driver, fault={"task": "hang", "at": "blue-10"})
        hanging = query.await_hit()
        until("two executors", lambda: len(spark.executors()) == len(HOSTS))
        pipelines.await_exact(query, *topics)
        until("one executor, as nothing is to be read", lambda: len(spark.executors()) == 1)

        # The last executor leaves, and its successor continues.
        (last,) = spark.executors()
        os.kill(last, signal.SIGPWR)
        until("a successor", lambda: _successors(spark, {last, hanging}))
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
            until("the executor has left", lambda: leaving not in spark.executors())
            pipelines.orders(20)
            pipelines.await_written(writer)
            writer.stop()
        driver.kill()


def _successors(spark: Standalone, gone: set[int]) -> set[int]:
    return spark.executors() - gone
