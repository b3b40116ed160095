"""The API that Python users call to write, on real brokers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.jars import REPOSITORY
from tests.harness.orders import Orders

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

LIMIT_S = 600


@pytest.mark.test_all
def test_a_job_and_a_query_write_each_record_once_to_every_cluster(
    brokers: dict[str, Cluster], orders: Orders, tmp_path: Path
) -> None:
    streams, topic = orders.with_copies(brokers, tmp_path, "blue", "green")
    command = [sys.executable, "-m", "tests.harness.copies", str(streams), str(tmp_path / "checkpoint")]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # Once by the job and once by the query, which was started twice.
    expected = Counter(f"{cluster}:{value}" for cluster, _, _, value in orders.expected)
    for name in ("blue", "green"):
        seen = brokers[name].dump(topic, committed_only=True)
        assert Counter(record.value for record in seen) == expected + expected
        assert {record.partition for record in seen} == {0, 1}
    assert (tmp_path / "checkpoint" / "dynamic-kafka-sink").is_dir()
