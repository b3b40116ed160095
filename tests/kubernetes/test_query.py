"""The query of examples/kubernetes as a process, with an API server of Kubernetes and brokers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from tests.harness.jars import connector_jars
from tests.harness.orders import Orders
from tests.harness.waiting import until
from tests.kubernetes.api_server import ApiServer
from tests.kubernetes.manifests import FOLDER, manifest

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
SETTINGS = {"spark.ui.enabled": "false", "spark.driver.host": "localhost"}


@pytest.mark.test_all
def test_it_copies_the_streams_of_the_config_map(
    brokers: dict[str, Cluster], orders: Orders, tmp_path: Path
) -> None:
    streams, topic = orders.with_copies(brokers, tmp_path, "blue")
    document = json.loads(streams.read_text())
    document["streams"]["archive"] = document["streams"].pop("copies")
    config_map = manifest("streams.yaml", "ConfigMap")
    config_map["data"]["streams.yaml"] = json.dumps(document)
    server = ApiServer(config_map)
    command: list[str | Path] = [
        SPARK_SUBMIT,
        "--master",
        "local[2]",
        "--jars",
        ",".join(str(jar) for jar in connector_jars()),
    ]
    command += [part for name, value in SETTINGS.items() for part in ("--conf", f"{name}={value}")]
    env = os.environ | {
        "KUBECONFIG": str(server.kubeconfig(tmp_path)),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(sys.path[1:]),
    }
    log = tmp_path / "query.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, FOLDER / "query.py", tmp_path / "checkpoint"],
            cwd=tmp_path,
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    expected = Counter(value for _, _, _, value in orders.expected)
    try:

        def copied() -> Counter[str | None]:
            assert process.poll() is None, log.read_text()[-5000:]
            return Counter(record.value for record in brokers["blue"].dump(topic, committed_only=True))

        until("all records are copied", lambda: copied().total() >= expected.total())
        assert copied() == expected
    finally:
        process.terminate()
        process.wait(60)
        server.close()
