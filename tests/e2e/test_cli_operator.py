"""An operator looks at a decision that its query has left open, and closes it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

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


def _run(writer: SinkQuery, command: str, *arguments: str, exit_code: int) -> tuple[Any, str]:
    """The result and the reasons of a command."""
    program = [sys.executable, "-m", "dynamic_kafka", command, str(writer.checkpoint.folder)]
    options = ["--metadata", str(writer.target), "--timeout", "20", "--json"]
    done = subprocess.run([*program, *arguments, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout) if done.stdout else None, done.stderr
