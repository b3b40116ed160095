"""An operator looks at a decision that its query has left open, and closes it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.harness.command import command
from tests.harness.pipelines import Pipelines
from tests.harness.sink_query import SinkQuery

BATCH = 1


@pytest.mark.test_all
def test_a_decision_of_a_driver_that_died_is_resolved(pipelines: Pipelines) -> None:
    pipelines.orders(40)
    writer = pipelines.writer("resolved")
    with pipelines.watcher(writer):
        doomed = pipelines.drivers.doomed()
        writer.begin(doomed, fault={"step": "decided", "batch": BATCH})
        writer.await_halt()
        _, refused = _run(writer, "resolve", "--batch", str(BATCH), "--rewrite", exit_code=1)
        assert f"of the query is at work on batch {BATCH}" in refused
        doomed.kill()

        looked, _ = _run(writer, "transactions", exit_code=1)
        (decision,) = looked["decisions"]
        (decided,) = (entry for name, entry in writer.decisions().items() if name == f"{BATCH}-0")
        expected = [(t["cluster"], t["transactionalId"], "open") for t in decided["transactions"]]
        assert expected
        assert [tuple(t.values()) for t in decision["transactions"]] == expected
        assert (decision["batch"], decision["generation"]) == (BATCH, decided["claim"]["generation"])

        closed, _ = _run(writer, "resolve", "--batch", str(BATCH), "--rewrite", exit_code=0)
        assert {t["state"] for t in closed["transactions"]} == {"aborted"}
        (note,) = json.loads((writer.journal / f"resolved-{BATCH}-0.json").read_text())["notes"]
        assert (note["resolution"], note["closed"]) == ("rewrite", True)
        assert note["by"]
        looked, _ = _run(writer, "transactions", exit_code=0)
        assert looked == {"decisions": []}

        writer.begin(pipelines.drivers.shared())
        pipelines.await_written(writer)
        pipelines.orders(20)
        pipelines.await_written(writer)
    pipelines.await_readers_pass(writer)


def _run(writer: SinkQuery, name: str, *arguments: str, exit_code: int) -> tuple[Any, str]:
    """The result and the reasons of a command."""
    options = ["--metadata", str(writer.target), "--timeout", "20", "--json"]
    done = command(name, writer.checkpoint.folder, *arguments, *options)
    assert done.exit_code == exit_code, done.stdout + done.stderr
    return done.json, done.stderr
