"""Killed executors, retried tasks and speculative tasks, with exactly-once."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.harness.pipelines import Pipelines
from tests.harness.sink_query import PATIENCE_S, SinkQuery
from tests.harness.standalone import COMPLETE, SPECULATION, standalone
from tests.harness.waiting import until


@pytest.mark.test_all
def test_attempts_of_tasks(pipelines: Pipelines) -> None:
    values = pipelines.orders(20)
    hang = {"task": "hang", "at": values[-1]}
    failed = pipelines.writer("failed")
    killed = pipelines.writer("killed")
    slow = pipelines.writer("slow")
    raced = pipelines.writer("raced")
    queries = (failed, killed, slow, raced)
    with standalone(pipelines.folder / "spark") as spark, pipelines.watcher(*queries):
        # One query after the other, because there are two cores.
        driver = spark.driver(pipelines.drivers, COMPLETE)
        failed.begin(driver, fault={"task": "fail", "at": values[-1]})
        pipelines.await_written(failed)
        failed.stop()
        killed.begin(driver, fault=hang)
        executor = killed.await_hit()
        until("sent records", lambda: values[-2].upper() in pipelines.uncommitted(killed), PATIENCE_S)
        assert not pipelines.visible(killed)
        os.kill(executor, signal.SIGKILL)
        pipelines.await_written(killed)
        killed.stop()
        driver.kill()

        driver = spark.driver(pipelines.drivers, COMPLETE, SPECULATION)
        slow.begin(driver, fault=hang)
        pipelines.await_written(slow)
        pipelines.orders(20)
        pipelines.await_written(slow)
        slow.stop()
        # The first attempt wins, and the second one is killed in the middle of its transaction.
        raced.begin(driver, fault={"task": "race", "at": values[-1]})
        assert raced.await_hit() != raced.await_hit(second=True)
        raced.release_task()
        pipelines.await_written(raced)
        assert {_attempt(t) for t in _first(raced)} == {"0"}
        for query in (failed, killed, slow):
            # A later attempt of one of two tasks has won.
            assert {_attempt(t) for t in _first(query)} == {"0", "1"}, query.name
        # Readers do not wait for transactions of other attempts, whose threads Spark has interrupted.
        assert "could not be aborted" not in _executors_log(pipelines)
        pipelines.await_readers_pass(*queries)
        driver.kill()


def _executors_log(pipelines: Pipelines) -> str:
    logs = list((pipelines.folder / "spark").glob("*/app-*/*/stderr"))
    assert len(logs) >= 5
    return "\n".join(log.read_text() for log in logs)


def _first(query: SinkQuery) -> list[dict[str, Any]]:
    return list(query.decisions()["0-0"]["transactions"])


def _attempt(transaction: dict[str, Any]) -> str:
    return str(transaction["transactionalId"]).rsplit(".", 1)[1]
