"""Outages in the middle of a commit that are longer than the transaction timeout."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.driver_process import DriverProcess
from tests.harness.pipelines import Pipelines
from tests.harness.sink_query import PATIENCE_S, SinkQuery
from tests.harness.waiting import until

BATCH = 1
# A batch has to be decided within half of it, also on a busy machine.
LIFE_MS = "30000"
SHORT = {"kafka.transaction.timeout.ms": LIFE_MS, "commitTimeoutMs": "12000"}
REPLAY = {"partialCommitPolicy": "replay-lost-partitions", "commitTimeoutMs": "300000"}
# For queries that are not disturbed any more.
LONG = {"kafka.transaction.timeout.ms": "600000", "commitTimeoutMs": "300000"}
TOO_SLOW = ("DYNAMIC_KAFKA.TRANSACTIONS_ABORTED", "DYNAMIC_KAFKA.COMMIT_INCOMPLETE")
DECIDED = {"step": "decided", "batch": BATCH}
# How many starts, of all queries together, may be too slow for transactions of `LIFE_MS` on a busy machine.
MOST_RETRIES = 5


@pytest.mark.test_all
def test_a_lost_part_is_reported_and_written_again_and_a_lost_batch_starts_again(pipelines: Pipelines) -> None:
    pipelines.orders(40)
    partial = pipelines.writer("partial", "mapped", **SHORT)
    nothing = pipelines.writer("nothing", "mapped", **SHORT)
    twice = pipelines.writer("twice", "mapped", **SHORT)
    queries = (partial, nothing, twice)
    green, old = pipelines.targets.values()
    doomed = pipelines.drivers.doomed()
    retries = _Retries()
    with pipelines.watcher(*queries):
        retries.halt(nothing, doomed, DECIDED)
        retries.halt(twice, doomed, {"step": "between-commits", "batch": BATCH})
        # The last start, so that green's part is committed in time.
        retries.halt(partial, doomed, DECIDED)
        old.kill()
        try:
            partial.release()
            on_green = sum(_rows(partial, "green").values())
            until("green's part", lambda: _count(pipelines, partial, "green") == on_green, PATIENCE_S)
            green.kill()
            try:
                nothing.release()
                error = partial.fails_with("COMMIT_INCOMPLETE")
                assert "'old'" in error
                assert "'green'" not in error
                error = nothing.fails_with("COMMIT_INCOMPLETE")
                assert "'old'" in error
                assert "'green'" in error
            finally:
                green.restart()
        finally:
            old.restart()
        # Kafka has aborted the open transactions.
        pipelines.await_readers_pass(*queries)
        assert pipelines.values(nothing).total() == _rows(nothing)["0-0"]
        seen = pipelines.values(partial)
        assert seen.total() == _rows(partial)["0-0"] + _rows(partial, "green")["1-0"]
        twice.release()
        twice.fails_with("PARTIAL_COMMIT")
        pipelines.drivers.prepare()

        shared = pipelines.drivers.shared()
        partial.begin(shared)
        error = partial.fails_with("PARTIAL_COMMIT")
        missing = [t for t in partial.decisions()[f"{BATCH}-0"]["transactions"] if t["cluster"] == "old"]
        assert missing
        for transaction in missing:
            assert transaction["transactionalId"] in error
            assert (
                f"(task {transaction['partition']}, {transaction['rows']} records, topic {partial.topic})" in error
            )
        assert "cluster 'green'" not in error
        assert pipelines.values(partial) == seen
        partial.begin(shared, None, **REPLAY | LONG)
        nothing.begin(shared, None, **LONG)
        # The missing part is prepared, decided and lost again; the driver dies before it notices.
        doomed.kill()
        doomed = pipelines.drivers.doomed()
        retries.halt(twice, doomed, DECIDED, **REPLAY)
        again = pipelines.values(twice)
        pipelines.await_readers_pass(twice)
        doomed.kill()
        assert pipelines.values(twice) == again
        twice.begin(shared, None, **REPLAY | LONG)
        pipelines.await_written(*queries)
        assert sorted(partial.decisions()) == ["0-0", "1-0", "1-1"]
        assert sorted(nothing.decisions()) == ["0-0", "1-0"]
        assert sorted(twice.decisions()) == ["0-0", "1-0", "1-1"]
        pipelines.orders(20)
        pipelines.await_written(*queries)
    pipelines.await_readers_pass(*queries)
    print(f"{len(retries.errors)} of at most {MOST_RETRIES} retries")


class _Retries:
    """Counts the starts of the whole test that were too slow for these short transactions."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def halt(self, query: SinkQuery, driver: DriverProcess, fault: dict[str, Any], **options: str) -> None:
        """Start the query, repeatedly if necessary, until it is halted."""
        while True:
            query.begin(driver, fault, **options)
            event = until(f"the halt of {query.name}", query.halted_or_terminated, PATIENCE_S)
            assert event is not None
            if event["event"] == "stuck":
                return
            assert any(condition in str(event["error"]) for condition in TOO_SLOW), event
            self.errors.append(f"{query.name}: {event['error']}")
            assert len(self.errors) <= MOST_RETRIES, "\n".join(self.errors)


def _rows(query: SinkQuery, *clusters: str) -> dict[str, int]:
    """The numbers of records in the decisions of a query, for these clusters or for all."""
    return {
        name: sum(t["rows"] for t in entry["transactions"] if not clusters or t["cluster"] in clusters)
        for name, entry in query.decisions().items()
    }


def _count(pipelines: Pipelines, query: SinkQuery, cluster: str) -> int:
    return len(pipelines.brokers[cluster].dump(query.topic, committed_only=True))
