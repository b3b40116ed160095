"""The command line prints the lag of a query's checkpoint, by the brokers' end offsets."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import command
from tests.harness.query import Query
from tests.harness.scene import Scene


@pytest.mark.test_all
def test_lag_of_a_query_but_not_of_a_cluster_that_is_down(scene: Scene) -> None:
    topic = scene.topic("blue", "red")
    metadata = scene.metadata("orders", "blue", "red", topic=topic)
    query = scene.query(metadata)
    scene.produce("blue", topic, 4)
    scene.produce("red", topic, 4)
    query.start(scene.drivers.shared())
    scene.await_exact(query, ("blue", topic), ("red", topic))
    query.stop()
    scene.produce("blue", topic, 6)

    source = _offsets(query)
    assert source["lag_unknown"] == {}
    assert _lags(source, "blue") == [3, 3]
    assert _lags(source, "red") == [0, 0]

    scene.brokers["red"].kill()
    try:
        source = _offsets(query)
    finally:
        scene.brokers["red"].restart()
    assert list(source["lag_unknown"]) == ["red"]
    assert scene.brokers["red"].bootstrap_servers in source["lag_unknown"]["red"]
    assert _lags(source, "blue") == [3, 3]
    assert _lags(source, "red") == [None, None]


def test_ctrl_c_ends_watch_quietly(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    offset = {"version": 2, "clusters": {"blue": {"orders": {"0": 7}}}}
    (tmp_path / "offsets" / "3").write_text(f"v1\n{{}}\n{json.dumps(offset)}")
    program = [sys.executable, "-m", "dynamic_kafka", "offsets", str(tmp_path), "--no-lag", "--watch"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None and watch.stderr is not None
        shown = [watch.stdout.readline() for _ in range(12)]
        watch.send_signal(signal.SIGINT)
        assert watch.wait(60) == 0
        assert watch.stderr.read() == ""
    assert [line for line in shown if line.startswith("batch 3 ")] == [shown[0], shown[6]]


def _offsets(query: Query) -> Any:
    done = command("offsets", query.checkpoint.folder, "--timeout", "20", "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    (source,) = done.json["sources"]
    return source


def _lags(source: Any, cluster: str) -> list[int | None]:
    return [position["lag"] for position in source["positions"] if position["cluster"] == cluster]
