"""`publish` writes a metadata file to a topic, and a query of the service `kafka-topic` reads what it has written."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

from dynamic_kafka_testkit import Cluster, Record

from tests.harness.jars import connector_jars

_READ = """
import sys
from dynamic_kafka import DynamicKafka, KafkaTopicMetadataService, OffsetsInitializer
from pyspark.sql import SparkSession

address, streams, jars = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
spark = DynamicKafka.configure(builder.config("spark.driver.host", "localhost"), jars=jars.split(",")).getOrCreate()
topic = KafkaTopicMetadataService(address, streams)
reader = DynamicKafka.builder(spark).set_kafka_metadata_service(topic).set_stream_ids("orders")
rows = reader.set_starting_offsets(OffsetsInitializer.earliest()).load_batch().collect()
print([(row.cluster, row.value.decode()) for row in rows])
spark.stop()
"""


def _publish(file: Path, address: str, topic: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dynamic_kafka", "publish", str(file), "--bootstrap-servers", address]
    return subprocess.run([*command, "--topic", topic, *options], capture_output=True, text=True)


def _create(cluster: Cluster, topic: str, partitions: int, policy: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    new = NewTopic(topic, partitions, 1, config={"cleanup.policy": policy})
    admin.create_topics([new])[topic].result(60)


def test_publish_and_read(brokers: dict[str, Cluster], tmp_path: Path) -> None:
    blue = brokers["blue"]
    address = blue.bootstrap_servers
    streams, two, logs, orders = (
        f"{name}-{uuid.uuid4().hex[:8]}" for name in ("streams", "two", "logs", "orders")
    )
    for topic, partitions, policy in ((streams, 1, "compact"), (two, 2, "compact"), (logs, 1, "delete")):
        _create(blue, topic, partitions, policy)
    blue.create_topic(orders, partitions=1)
    blue.produce(orders, [Record(0, None, "7")])
    file = tmp_path / "streams.yaml"
    file.write_text(
        f'version: 1\nclusters:\n  blue:\n    properties: {{bootstrap.servers: "{address}"}}\n'
        f"streams:\n  orders:\n    clusters:\n      blue: {{topics: [{orders}]}}\n"
    )
    for topic, reason in ((two, "has 2 partitions instead of one"), (logs, "'delete' instead of 'compact'")):
        refused = _publish(file, address, topic)
        assert refused.returncode == 1
        assert reason in refused.stderr
    done = _publish(file, address, streams)
    assert (done.returncode, done.stdout) == (0, f"{streams}: 1 stream published\n"), done.stderr
    jars = ",".join(map(str, connector_jars()))
    read = [sys.executable, "-c", _READ, address, streams, jars]
    assert "[('blue', '7')]" in subprocess.run(read, capture_output=True, text=True, check=True).stdout
    removed = _publish(file, address, streams, "--remove", "former", "--json")
    assert json.loads(removed.stdout) == {"topic": streams, "published": ["orders"], "removed": ["former"]}
