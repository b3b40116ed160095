"""Brokers that are killed, frozen or restarted while an exactly-once batch is prepared or committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.harness.pipelines import TARGETS, Pipelines
from tests.harness.sink_query import PATIENCE_S, SinkQuery
from tests.harness.waiting import until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

PATIENT = {"commitTimeoutMs": "300000"}
# The cluster, and how the outage begins and ends.
OUTAGES: dict[str, tuple[str, Callable[[Cluster], None], Callable[[Cluster], None]]] = {
    "killed": ("green", lambda broker: broker.kill(), lambda broker: broker.restart()),
    "frozen": ("old", lambda broker: broker.freeze(), lambda broker: broker.thaw()),
    "restarted": ("old", lambda broker: broker.restart(), lambda broker: None),
}


@pytest.mark.test_all
@pytest.mark.parametrize("outage", OUTAGES)
def test_a_broker_in_prepare_and_in_commit(pipelines: Pipelines, outage: str) -> None:
    name, begin, end = OUTAGES[outage]
    other = next(cluster for cluster in TARGETS if cluster != name)
    values = pipelines.orders(20)
    preparing = pipelines.writer("preparing", "mapped", **PATIENT)
    committing = pipelines.writer("committing", "mapped", **PATIENT)
    shared = pipelines.drivers.shared()
    with pipelines.watcher(preparing, committing):
        # In the middle of the batch: its task has records for each cluster after the outage has begun.
        preparing.begin(shared, fault={"task": "hang", "at": values[6]})
        committing.begin(shared, fault={"step": "decided", "batch": 0})
        preparing.await_hit()
        until("sent records", lambda: values[3].upper() in pipelines.uncommitted(preparing), PATIENCE_S)
        committing.await_halt()
        assert not pipelines.visible(preparing)
        assert not pipelines.visible(committing)
        begin(pipelines.brokers[name])
        try:
            preparing.release_task()
            committing.release()
            until("the other cluster's part", lambda: _count(pipelines, committing, other), PATIENCE_S)
            if outage != "restarted":
                assert not committing.done()
                assert not preparing.decisions()
        finally:
            end(pipelines.brokers[name])
        pipelines.orders(20)
        pipelines.await_written(preparing, committing)
        assert preparing.run == committing.run == 1
    pipelines.await_readers_pass(preparing, committing)


@pytest.mark.test_all
def test_down_in_commit_and_back_in_time(pipelines: Pipelines) -> None:
    pipelines.orders(40)
    query = pipelines.writer("query")
    shared = pipelines.drivers.shared()
    with pipelines.watcher(query) as watcher:
        query.begin(shared, fault={"step": "decided", "batch": 1}, commitTimeoutMs="15000")
        query.await_halt()
        decided = query.decisions()
        rows = {
            cluster: sum(t["rows"] for t in decided["1-0"]["transactions"] if t["cluster"] == cluster)
            for cluster in TARGETS
        }
        before = _count(pipelines, query, "green")
        pipelines.brokers["old"].kill()
        try:
            query.release()
            error = query.fails_with("COMMIT_INCOMPLETE")
            for transaction in decided["1-0"]["transactions"]:
                assert (transaction["cluster"] == "old") == (f"'{transaction['cluster']}', transaction" in error)
            # Spark then asks the sink to abort; a decision remains.
            assert _count(pipelines, query, "green") == before + rows["green"]
            assert query.done() == {"0-0"}
        finally:
            pipelines.brokers["old"].restart()
        watcher.look_again()
        pipelines.orders(20)
        query.begin(shared)
        pipelines.await_written(query)
        assert query.decisions()["1-0"] == decided["1-0"]
        assert query.done() == {"0-0", "1-0", "2-0"}
    pipelines.await_readers_pass(query)


def _count(pipelines: Pipelines, query: SinkQuery, cluster: str) -> int:
    return len(pipelines.brokers[cluster].dump(query.topic, committed_only=True))
