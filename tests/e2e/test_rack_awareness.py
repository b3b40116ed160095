"""Executors fetch from the brokers in their own rack, which each of them knows from its environment."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dynamic_kafka_testkit import Cluster, Record, Testkit

from tests.harness.metadata import MetadataFile
from tests.harness.racks import RACK
from tests.harness.standalone import HOSTS, standalone

ROOT = Path(__file__).resolve().parents[2]
RACKS = ("a", "b")
BROKER_OF = {"a": 1, "b": 2}
LEADER = BROKER_OF["a"]
# Topics, and streams: one is read with the rack, the other without.
OPTIONS = {"aware": {"kafka.client.rack": f"${{env:{RACK}}}"}, "unaware": {}}
PARTITIONS = 4
RECORDS = 200
RECORD_BYTES = 20_000
# For everything but records: metadata, offsets, responses without records.
OVERHEAD_BYTES = 100_000

Rows = list[dict[str, Any]]


@pytest.fixture
def zones(testkit: Testkit) -> Iterator[Cluster]:
    # Late heartbeats on a busy machine must not move a leader.
    properties = {"broker.session.timeout.ms": "60000"}
    with testkit.start("zones", nodes=2, racks=RACKS, properties=properties) as cluster:
        yield cluster


@pytest.mark.test_all
def test_executors_read_from_the_brokers_of_their_rack(zones: Cluster, tmp_path: Path) -> None:
    chance = random.Random(9)
    values = [chance.randbytes(RECORD_BYTES // 2).hex() for _ in range(RECORDS)]
    streams = MetadataFile(tmp_path / "streams.json").cluster("zones", zones.bootstrap_servers)
    for topic in OPTIONS:
        zones.create_topic(topic, PARTITIONS, replicas=(LEADER, BROKER_OF["b"]))
        zones.produce(topic, [Record(n % PARTITIONS, None, value) for n, value in enumerate(values)])
        streams.stream(topic, {"zones": [topic]})
    streams.write()

    environments = {host: {RACK: rack} for host, rack in zip(HOSTS, RACKS, strict=True)}
    with standalone(tmp_path / "spark", environments) as spark:
        rows = _read(spark.master, streams.path, tmp_path / "job.log")

    for topic in OPTIONS:
        assert {zones.leader(topic, p) for p in range(PARTITIONS)} == {LEADER}
        mine = [row for row in rows if row["topic"] == topic]
        expected = [(record.partition, record.offset, record.value) for record in zones.dump(topic)]
        assert sorted((row["partition"], row["offset"], row["value"]) for row in mine) == expected
        for rack in RACKS:
            in_rack = [row for row in mine if row["rack"] == rack]
            _assert_fetched_from(BROKER_OF[rack] if topic == "aware" else LEADER, in_rack)


def _read(master: str, streams: Path, log: Path) -> Rows:
    with log.open("w") as errors:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.harness.racks", master, str(streams), json.dumps(OPTIONS)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, log.read_text()[-5000:]
    return list(json.loads(ran.stdout.splitlines()[-1]))


def _assert_fetched_from(broker: int, rows: Rows) -> None:
    """All records that the executor of a rack read from a topic are from this broker."""
    received: Counter[int] = Counter()
    for row in rows:
        received |= Counter(_numbers(row["bytes"]))
    assert received[broker] >= len(rows) * RECORD_BYTES > OVERHEAD_BYTES
    assert received.total() - received[broker] < OVERHEAD_BYTES
    # Kafka has -1 for the leader.
    assert {row["follower"] for row in rows} == {"-1" if broker == LEADER else str(broker)}


def _numbers(text: str) -> dict[int, int]:
    """Parse `1=5000,2=70`."""
    return {int(key): int(value) for key, value in (pair.split("=") for pair in text.split(",") if pair)}
