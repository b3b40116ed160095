"""A driver that is killed with SIGKILL while its queries write exactly once, at every step of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.harness.pipelines import SOURCE, TARGETS, Pipelines
from tests.harness.sink_query import PATIENCE_S, SinkQuery
from tests.harness.waiting import until

BATCH = 1


def test_at_each_step(pipelines: Pipelines) -> None:
    first = pipelines.orders(40)
    queries = {
        "before-decision": pipelines.writer("before-decision"),
        "decided": pipelines.writer("decided"),
        "between-commits": pipelines.writer("between-commits"),
        "committed": pipelines.writer("committed"),
        "counted": pipelines.writer("counted", shape="counted"),
        "to-all": pipelines.writer("to-all", clusterRouting="all"),
        "two-streams": pipelines.writer("two-streams", shape="both"),
        "in-tasks": pipelines.writer("in-tasks"),
    }
    # The last record of a partition in the second batch: the records before it have been sent.
    faults: dict[str, Mapping[str, Any]] = {name: {"step": name, "batch": BATCH} for name in queries}
    faults["counted"] = {"step": "decided", "batch": BATCH}
    faults["to-all"] = faults["two-streams"] = {"step": "between-commits", "batch": BATCH}
    faults["in-tasks"] = {"task": "hang", "at": first[-1]}
    doomed = pipelines.drivers.doomed()
    with pipelines.watcher(*queries.values()) as watcher:
        for name, query in queries.items():
            query.begin(doomed, fault=faults[name])
        for name, query in queries.items():
            if name == "in-tasks":
                query.await_hit()
                _await_sent(pipelines, query, first[-2])
            else:
                query.await_halt()
        watcher.look_again()
        decided = {name: query.decisions() for name, query in queries.items()}
        for name, query in queries.items():
            _check_stuck(pipelines, name, query)
        doomed.kill()
        for query in queries.values():
            assert query.checkpoint.unfinished() == [BATCH]

        pipelines.orders(20)
        for query in queries.values():
            query.begin(pipelines.drivers.shared())
        pipelines.await_written(*queries.values())
        for name, query in queries.items():
            # Decided batches are committed as decided, others are written by the new run.
            again = query.decisions()
            assert f"{BATCH}-0" in again
            if f"{BATCH}-0" in decided[name]:
                assert again[f"{BATCH}-0"] == decided[name][f"{BATCH}-0"], name
            else:
                assert again[f"{BATCH}-0"]["claim"] != again["0-0"]["claim"], name
            assert query.done() == set(again)
    pipelines.await_readers_pass(*queries.values())


def _check_stuck(pipelines: Pipelines, name: str, query: SinkQuery) -> None:
    entry = f"{BATCH}-0"
    seen = pipelines.values(query).total()
    decided = query.decisions().get(entry)
    assert entry not in query.done()
    if name in ("before-decision", "in-tasks"):
        assert decided is None
        assert seen == 20, name
        return
    assert decided is not None
    batches = [query.decisions()[e]["transactions"] for e in ("0-0", entry)]
    rows = [sum(t["rows"] for t in transactions) for transactions in batches]
    assert {t["cluster"] for t in batches[1]} == set(TARGETS)
    # Nothing of the batch, a part of it, or all of it.
    if name in ("decided", "counted"):
        assert seen == rows[0], name
    elif name in ("between-commits", "to-all", "two-streams"):
        # Kafka answers a commit before it has written the markers, and the sink waits for them after the last one.
        seen = until(f"a part of {name}", lambda: _more_than(rows[0], pipelines, query), PATIENCE_S)
        assert seen < sum(rows), name
    else:
        assert seen == sum(rows), name


def _more_than(known: int, pipelines: Pipelines, query: SinkQuery) -> int:
    """How many records are visible; 0 if no more than were known."""
    seen = pipelines.values(query).total()
    return seen if seen > known else 0


def _await_sent(pipelines: Pipelines, query: SinkQuery, value: str) -> None:
    """Wait until the record is in Kafka, in an open transaction."""
    until(f"{value} of {query.name}", lambda: value.upper() in pipelines.uncommitted(query), PATIENCE_S)


@pytest.mark.test_all
def test_before_the_offset_log_and_after_it(pipelines: Pipelines) -> None:
    """Between two batches, with a batch that is not in Spark's commit log, and with offsets but no task started."""
    pipelines.orders(20)
    planning = pipelines.writer("planning")
    unnoted = pipelines.writer("unnoted")
    logged = pipelines.writer("logged")
    queries = (planning, unnoted, logged)
    doomed = pipelines.drivers.doomed()
    with pipelines.watcher(*queries):
        planning.begin(doomed)
        unnoted.begin(doomed)
        pipelines.await_written(planning, unnoted)
        # The first batch of a run asks each cluster for the limit of transactions; this one does not respond.
        pipelines.brokers["old"].freeze()
        try:
            logged.begin(doomed)
            until("the offset log", logged.checkpoint.unfinished, PATIENCE_S)
            pipelines.brokers[SOURCE].freeze()
            try:
                doomed.kill()
            finally:
                pipelines.brokers[SOURCE].thaw()
        finally:
            pipelines.brokers["old"].thaw()
        assert planning.checkpoint.unfinished() == []
        assert logged.checkpoint.unfinished() == [0]
        assert logged.decisions() == {}
        # As if it had been killed between the sink's commit and Spark's commit log.
        decided = unnoted.decisions()
        assert unnoted.done() == set(decided) == {"0-0"}
        for name in ("0", ".0.crc"):
            (unnoted.checkpoint.folder / "commits" / name).unlink()
        pipelines.orders(20)
        for query in queries:
            query.begin(pipelines.drivers.shared())
        pipelines.await_written(*queries)
        for query in queries:
            assert sorted(query.decisions()) == ["0-0", "1-0"]
        assert unnoted.decisions()["0-0"] == decided["0-0"]
    pipelines.await_readers_pass(*queries)
