"""The example that users copy runs unchanged."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from dynamic_kafka_testkit import Record, Testkit

from tests.harness.waiting import until

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TIMEOUT_S = 400


@pytest.mark.test_all
def test_quickstart_counts_the_orders_of_both_clusters(testkit: Testkit, tmp_path: Path) -> None:
    document = yaml.safe_load((EXAMPLES / "streams.yaml").read_text())
    for number, name in enumerate(document["clusters"], start=1):
        cluster = testkit.start(f"quickstart-{name}")
        cluster.create_topic("orders")
        cluster.produce("orders", [Record(0, None, str(n)) for n in range(number * 10)])
        document["clusters"][name]["properties"]["bootstrap.servers"] = cluster.bootstrap_servers
    streams = tmp_path / "streams.yaml"
    streams.write_text(yaml.safe_dump(document))

    with (tmp_path / "log").open("w+") as log:
        quickstart = subprocess.Popen(
            [sys.executable, EXAMPLES / "quickstart.py", streams], stdout=log, stderr=log, cwd=tmp_path
        )
        try:
            until("all orders", lambda: _shows_all(quickstart, tmp_path / "log"), TIMEOUT_S)
        finally:
            quickstart.send_signal(signal.SIGINT)
            quickstart.wait(60)


def _shows_all(quickstart: subprocess.Popen[bytes], log: Path) -> bool:
    text = log.read_text()
    assert quickstart.poll() is None, text
    return all(line in text for line in ("|orders|   blue|   10|", "|orders|  green|   20|"))


@pytest.mark.test_all
def test_a_history_is_written_and_read_back_before_kafka(testkit: Testkit, tmp_path: Path) -> None:
    cluster = testkit.start("history")
    cluster.create_topic("orders")
    document: dict[str, Any] = {
        "version": 1,
        "clusters": {"blue": {"properties": {"bootstrap.servers": cluster.bootstrap_servers}}},
        "streams": {"orders": {"clusters": {"blue": {"topics": ["orders"]}}}},
    }
    streams = tmp_path / "streams.yaml"
    streams.write_text(yaml.safe_dump(document))

    def run(step: str) -> None:
        command: list[str | Path] = [sys.executable, EXAMPLES / "history.py", step, streams, tmp_path / "archive"]
        subprocess.run(command, check=True, cwd=tmp_path, timeout=TIMEOUT_S)

    for number in range(2):
        cluster.produce("orders", [Record(0, None, f"archived-{number}-{n}") for n in range(10)])
        run("archive")
    cluster.delete_records("orders", 0, 20)
    cluster.produce("orders", [Record(0, None, f"new-{n}") for n in range(5)])
    document["streams"]["orders"]["history"] = {"format": "parquet", "path": str(tmp_path / "archive" / "orders")}
    streams.write_text(yaml.safe_dump(document))
    run("read")
    rows = [json.loads(line) for file in (tmp_path / "archive/read").glob("*.json") for line in file.open()]
    expected = [f"archived-{n // 10}-{n % 10}" for n in range(20)] + [f"new-{n}" for n in range(5)]
    assert sorted((row["offset"], row["value"]) for row in rows) == list(enumerate(expected))
