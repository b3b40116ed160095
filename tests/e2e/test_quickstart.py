"""The example that users copy runs as it is."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml
from dynamic_kafka_testkit import Record, Testkit

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TIMEOUT_S = 400


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
            deadline = time.monotonic() + TIMEOUT_S
            while not _shows(tmp_path / "log", "|orders|   blue|   10|", "|orders|  green|   20|"):
                assert quickstart.poll() is None, (tmp_path / "log").read_text()
                assert time.monotonic() < deadline, (tmp_path / "log").read_text()
                time.sleep(0.2)
        finally:
            quickstart.send_signal(signal.SIGINT)
            quickstart.wait(60)


def _shows(log: Path, *lines: str) -> bool:
    text = log.read_text()
    return all(line in text for line in lines)
