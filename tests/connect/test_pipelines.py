"""A declarative pipeline of Spark reads and writes streams in formats, over two clusters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.connect_server import ConnectServer
from tests.harness.jars import connector_jars

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "pipeline"


def _produce(cluster: Cluster, topic: str, first: int) -> list[tuple[int, str]]:
    from dynamic_kafka_testkit import Record

    rows = [(n, f"customer-{n % 7}") for n in range(first, first + 20)]
    cluster.produce(
        topic, [Record(n % 2, None, json.dumps({"id": n, "customer": customer})) for n, customer in rows]
    )
    return rows


def _run(folder: Path, server: ConnectServer) -> None:
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("spark-pipelines")),
            *("--remote", server.url, "run", "--spec", str(folder / "spark-pipeline.yml")),
        ],
        cwd=folder,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0 and "Run is COMPLETED" in done.stdout, done.stdout[-6000:]


# The test starts a server, and a JVM for each of two runs.
@pytest.mark.test_all
@pytest.mark.timeout(1500)
def test_a_pipeline_reads_and_writes_formats_and_continues(brokers: dict[str, Cluster], tmp_path: Path) -> None:
    topics = {name: f"{name}-{uuid.uuid4().hex[:8]}" for name in ("orders", "copies")}
    for cluster in brokers.values():
        for topic in topics.values():
            cluster.create_topic(topic, 2)
    streams = tmp_path / "streams.json"

    def write(*reading: str) -> None:
        clusters = {
            name: {"properties": {"bootstrap.servers": brokers[name].bootstrap_servers}}
            for name in ("blue", "green")
        }
        document = {
            "version": 1,
            "clusters": clusters,
            "streams": {
                "orders": {"clusters": {name: {"topics": [topics["orders"]]} for name in reading}},
                "copies": {"clusters": {name: {"topics": [topics["copies"]]} for name in ("blue", "green")}},
            },
        }
        streams.write_text(json.dumps(document))

    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    spec = (EXAMPLE / "spark-pipeline.yml").read_text()
    for old, new in (
        ("file:///tmp/dynamic-kafka-pipeline", (tmp_path / "storage").as_uri()),
        ("/path/to/streams.yaml", str(streams)),
    ):
        assert spec.count(old) == 1
        spec = spec.replace(old, new)
    (tmp_path / "spark-pipeline.yml").write_text(spec)

    def copies() -> Counter[tuple[str | None, int, str]]:
        found: Counter[tuple[str | None, int, str]] = Counter()
        for name in ("blue", "green"):
            for record in brokers[name].dump(topics["copies"], committed_only=True):
                assert record.value is not None
                value = json.loads(record.value)
                found[(record.key, value["id"], value["origin"])] += 1
        return found

    expected: Counter[tuple[str | None, int, str]] = Counter()

    def produced(name: str, first: int) -> None:
        expected.update((customer, n, name) for n, customer in _produce(brokers[name], topics["orders"], first))

    with ConnectServer(tmp_path / "server", connector_jars()) as server:
        produced("blue", 0)
        write("blue")
        _run(tmp_path, server)
        assert copies() == expected

        # The second run continues, and reads a cluster that the stream has since then.
        produced("blue", 100)
        produced("green", 1000)
        write("blue", "green")
        _run(tmp_path, server)
        assert copies() == expected
