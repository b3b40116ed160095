"""Everything that is expressed by options works over Spark Connect; errors of the rest name the remedy."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dynamic_kafka import _artifact

from tests.harness.connect_server import ConnectServer
from tests.harness.jars import connector_jars
from tests.harness.orders import Orders

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

SPARK_COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]


def test_the_whole_read_path(server: ConnectServer, orders: Orders, tmp_path: Path) -> None:
    start = json.dumps({orders.topic: {"0": 4, "1": 7}})
    seen = server.client("tests.connect.reads", str(orders.streams), str(tmp_path), start)
    assert seen["session"].startswith("pyspark.sql.connect.")
    assert seen["batch"] == orders.expected
    first = {("blue", 0): 4, ("blue", 1): 7}
    assert seen["from"] == [row for row in orders.expected if row[2] >= first.get((row[0], row[1]), 0)]
    assert seen["built_batch"] == orders.expected
    assert seen["decoded"] == [sorted(row[3] for row in orders.expected)] * 3
    assert seen["columns"] == [*SPARK_COLUMNS, "cluster", "stream"]
    for stream in (seen["stream"], seen["built"]):
        assert stream["rows"] == orders.expected
        assert stream["metrics"]["kafkaClustersCount"] == "2"
        assert stream["metrics"]["pendingRecords"] == "0"
        for cluster in ("blue", "green"):
            assert stream["metrics"][f"eventTimeLagMs.{cluster}"] == "0"
            assert stream["metrics"][f"eventTimeDriftMs.{cluster}"] == "0"
    # The first batch is limited.
    first = seen["stream"]["first"]
    assert max(int(first[f"eventTimeLagMs.{cluster}"]) for cluster in ("blue", "green")) > 0


def test_the_whole_write_path(
    server: ConnectServer, brokers: dict[str, Cluster], orders: Orders, tmp_path: Path
) -> None:
    streams, topic = orders.with_copies(brokers, tmp_path, "blue", "green")
    found = server.client("tests.connect.writes", str(streams), str(tmp_path))
    assert found["session"].startswith("pyspark.sql.connect.")
    # Written by a job and a query with the builder, and by a job with options alone.
    expected = Counter({f"{cluster}:{value}": 3 for cluster, _, _, value in orders.expected})
    for name in ("blue", "green"):
        seen = brokers[name].dump(topic, committed_only=True)
        assert Counter(record.value for record in seen) == expected
    assert found["python"][0] == "DYNAMIC_KAFKA.CONNECT_UNSUPPORTED"
    assert found["misspelt"][0] == "DYNAMIC_KAFKA.UNKNOWN_OPTION"
    assert "Did you mean 'clusterRouting'" in found["misspelt"][1]


@pytest.mark.test_all
def test_a_watermark_that_passes_a_cluster_is_logged(
    server: ConnectServer, brokers: dict[str, Cluster], orders: Orders, tmp_path: Path
) -> None:
    streams, _ = orders.with_copies(brokers, tmp_path, "blue", "green")
    assert server.client("tests.connect.watermark", str(streams), str(tmp_path)) == {"rows": 80}
    warnings = [line for line in server.log().splitlines() if "lags behind the watermark of the query" in line]
    assert len(warnings) == 1
    assert "Kafka cluster 'green'" in warnings[0]


@pytest.mark.test_all
def test_calls_that_need_a_classic_session_are_refused(server: ConnectServer, orders: Orders) -> None:
    found = server.client("tests.connect.refusals", str(orders.streams))
    for what, text in (
        ("configure", "DynamicKafka.configure needs a classic Spark session"),
        ("python", "A metadata service written in Python needs a classic Spark session"),
        ("python_batch", "A metadata service written in Python needs a classic Spark session"),
    ):
        condition, message = found[what]
        assert condition == "DYNAMIC_KAFKA.CONNECT_UNSUPPORTED"
        assert text in message
        assert "use a metadata service that runs there" in message


def test_errors_of_the_connector_reach_the_client(server: ConnectServer, orders: Orders) -> None:
    found = server.client("tests.connect.refusals", str(orders.streams))
    for what in ("misspelt", "misspelt_batch"):
        condition, message = found[what]
        assert condition == "DYNAMIC_KAFKA.UNKNOWN_OPTION"
        assert "Did you mean 'streamIds'" in message
    condition, message = found["function"]
    assert condition == "DYNAMIC_KAFKA.INVALID_OPTION"
    assert "use 'class:<name>'" in message


def test_each_way_to_make_a_table_and_to_write_to_it(
    server: ConnectServer, brokers: dict[str, Cluster], orders: Orders, tmp_path: Path
) -> None:
    streams, _ = orders.with_copies(brokers, tmp_path, "blue", "green")
    found = server.client("tests.connect.tables", str(streams))
    assert found["session"].startswith("pyspark.sql.connect.")
    assert len(found["written"]) == 21
    for way, rows in found["read"].items():
        assert rows == found["written"], way
    for way, ((_, too_few), *misspelt) in found["refused"].items():
        assert "(name, n, tags) VALUES" in too_few, way
        assert all("nam" in message and condition for condition, message in misspelt), way


@pytest.mark.test_all
def test_procedures(server: ConnectServer, orders: Orders, tmp_path: Path) -> None:
    found = server.client("tests.connect.procedures", str(orders.streams), str(tmp_path / "checkpoint"))
    assert found["session"].startswith("pyspark.sql.connect.")
    assert [row["stream"] for row in found["streams"]] == ["orders"]
    assert found["lag"] == [0, 0, 0, 0]
    # A call is made once, when the statement is sent: otherwise the result would be that of another call.
    assert found["drain"] == [
        {"stream": "orders", "cluster": "green", "old_state": "active", "new_state": "draining"}
    ]
    assert found["plan"] == [["drains", "green"]] * 2
    assert [row["new_position"] for row in found["reset"]] == [0, 0]
    for what, condition, text in (
        ("unknown", "UNKNOWN_PROCEDURE", "Did you mean 'system.lag'?"),
        ("refused", "PROCEDURE_REFUSED", "'clusters' has no cluster 'gren'. Did you mean 'green'?"),
    ):
        assert found[what][0] == f"DYNAMIC_KAFKA.{condition}"
        assert text in found[what][1]
    example = [sys.executable, "examples/procedures.py", server.url, str(orders.streams)]
    done = subprocess.run(
        [*example, str(tmp_path / "checkpoint")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    # All records of blue are unread again, so it is drained, and then activated.
    assert re.search(r"\|orders\|blue +\|active +\|draining +\|", done.stdout)
    assert re.search(r"\|drains\|blue +\|", done.stdout)
    assert re.search(r"\|orders\|blue +\|draining +\|active +\|", done.stdout)


@pytest.mark.test_all
def test_jars_that_the_client_uploads(orders: Orders, tmp_path: Path) -> None:
    with ConnectServer(tmp_path / "server") as server:
        jars = map(str, connector_jars())
        seen = server.client("tests.connect.artifacts", str(orders.streams), *jars)
    assert seen["batch"] == orders.expected
    assert seen["stream"]["rows"] == orders.expected


# PySpark has the trigger of real-time mode since 4.2.
if _artifact.spark_line() not in ("4.0", "4.1"):

    @pytest.mark.test_all
    def test_a_query_in_real_time_mode(
        server: ConnectServer, brokers: dict[str, Cluster], orders: Orders, tmp_path: Path
    ) -> None:
        blue, topic = brokers["blue"], f"copies-{uuid.uuid4().hex[:8]}"
        blue.create_topic(topic, partitions=1)
        arguments = (str(orders.streams), str(tmp_path), blue.bootstrap_servers, topic, str(len(orders.expected)))
        found = server.client("tests.connect.real_time", *arguments)
        assert found["session"].startswith("pyspark.sql.connect.")
        assert found["copies"] == sorted(row[3] for row in orders.expected)
        # Only the batch in which the clusters enter has ended.
        assert found["ended"] <= 1
        assert not found["active"]
