"""Real-time mode over Spark Connect."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.connect_server import ConnectServer
from tests.harness.orders import Orders

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


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
