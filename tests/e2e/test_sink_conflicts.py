"""Two drivers on one checkpoint, and a journal that cannot be written."""

from __future__ import annotations

import pytest

from tests.harness.pipelines import Pipelines
from tests.harness.sink_query import SinkQuery

STEPS = ("before-decision", "decided")


@pytest.mark.test_all
def test_two_drivers_on_one_checkpoint(pipelines: Pipelines) -> None:
    pipelines.orders(40)
    first = {step: pipelines.writer(step) for step in STEPS}
    with pipelines.watcher(*first.values()):
        doomed = pipelines.drivers.doomed()
        for step, query in first.items():
            query.begin(doomed, fault={"step": step, "batch": 1})
        for query in first.values():
            query.await_halt()
        second = {step: pipelines.copy(query) for step, query in first.items()}
        for query in second.values():
            query.begin(pipelines.drivers.shared())
        pipelines.await_written(*second.values())
        for query in first.values():
            query.release()
        # The transactions of the first run are aborted, and another run has claimed the journal.
        assert "started after this run" in first["before-decision"].fails_with("JOURNAL_CONFLICT")
        # Committing a committed transaction has no effect; Spark's own log has the batch already.
        assert "CONCURRENT_STREAM_LOG_UPDATE" in first["decided"].failure(300)
        pipelines.orders(20)
        pipelines.await_written(*second.values())
        assert second["decided"].run == second["before-decision"].run == 2
    pipelines.await_readers_pass(*second.values())


@pytest.mark.test_all
def test_a_driver_that_starts_while_another_one_decides(pipelines: Pipelines) -> None:
    pipelines.orders(40)
    first = pipelines.writer("first")
    with pipelines.watcher(first):
        # It has checked that the journal is claimed by its own run.
        first.begin(pipelines.drivers.doomed(), fault={"step": "claimed", "batch": 1})
        first.await_halt()
        second = pipelines.copy(first)
        # It has found no decision, and aborts the open transactions.
        second.begin(pipelines.drivers.shared(), fault={"step": "before-decision", "batch": 1})
        second.await_halt()
        first.release()
        assert "started after this run" in first.fails_with("JOURNAL_CONFLICT")
        assert "1-0" in second.decisions()
        second.release()
        pipelines.await_written(second)
        pipelines.orders(20)
        pipelines.await_written(second)
        assert second.run == 2
    pipelines.await_readers_pass(second)


@pytest.mark.test_all
def test_a_journal_that_cannot_be_written(pipelines: Pipelines) -> None:
    """Before the decision nothing is visible; after all commits everything is."""
    pipelines.orders(40)
    steps = ("before-decision", "committed")
    queries = {step: pipelines.writer(step) for step in steps}
    shared = pipelines.drivers.shared()
    with pipelines.watcher(*queries.values()) as watcher:
        for step, query in queries.items():
            query.begin(shared, fault={"step": step, "batch": 1})
        for query in queries.values():
            query.await_halt()
        rows = {step: pipelines.values(query).total() for step, query in queries.items()}
        assert rows == {"before-decision": 20, "committed": 40}
        for query in queries.values():
            _break(query)
            query.release()
        assert "dynamic-kafka-sink" in queries["before-decision"].failure(300)
        # The mark is written beside Spark's commit log, and its error fails the next batch.
        pipelines.orders(20)
        assert "dynamic-kafka-sink" in queries["committed"].failure(300)
        watcher.look_again()
        assert {step: pipelines.values(query).total() for step, query in queries.items()} == rows
        # Transactions that were not decided do not block readers.
        pipelines.await_readers_pass(*queries.values())
        for query in queries.values():
            _repair(query)
            query.begin(shared)
        pipelines.await_written(*queries.values())
    pipelines.await_readers_pass(*queries.values())


def _break(query: SinkQuery) -> None:
    query.journal.rename(query.journal.with_name("aside"))
    query.journal.write_text("not a folder")


def _repair(query: SinkQuery) -> None:
    query.journal.unlink()
    query.journal.with_name("aside").rename(query.journal)
