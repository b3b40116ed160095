"""Where a Kafka cluster replaces another one, the command and the procedure `plan` say what the next batch does."""

from __future__ import annotations

import json
import struct
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from tests.harness.checkpoint import Checkpoint
from tests.harness.command import command
from tests.harness.metadata import MetadataFile
from tests.harness.session import session

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

# Hours ago, so that the time of a batch never counts.
SINCE_MS = int(time.time() * 1000) - 3 * 3_600_000


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with session() as running:
        yield running


class Failover:
    """A query that has read twenty records of blue, of which green has a copy with ten unread ones."""

    def __init__(
        self, spark: SparkSession, brokers: Mapping[str, Cluster], folder: Path, options: Mapping[str, str]
    ) -> None:
        self.topic, self.options = f"t-{uuid.uuid4().hex[:8]}", options
        self.checkpoint = Checkpoint(folder / "checkpoint")
        self.metadata = MetadataFile(folder / "streams.json")
        self._brokers = brokers
        self._spark = spark.newSession()
        self._spark.conf.set("spark.sql.catalog.streams", "io.github.dynamickafka.DynamicKafkaCatalog")
        self._spark.conf.set("spark.sql.catalog.streams.metadataService", "file")
        self._spark.conf.set("spark.sql.catalog.streams.metadataService.path", str(self.metadata.path))
        for cluster in ("blue", "green"):
            brokers[cluster].create_topic(self.topic, 2)

    def write(self, cluster: str, numbers: range) -> None:
        """Produce a record for each second; each cluster has the same time for a number."""
        from dynamic_kafka_testkit import Record

        records = [Record(n % 2, None, f"v{n}", timestamp=SINCE_MS + n * 1000) for n in numbers]
        self._brokers[cluster].produce(self.topic, records)

    def point(self, id: str, cluster: str) -> None:
        """Let a cluster id lead to a cluster."""
        self.metadata.cluster(id, self._brokers[cluster].bootstrap_servers)
        self.metadata.stream("orders", {id: [self.topic]}).write()

    def replace(self) -> None:
        """Let green replace blue, under its own id."""
        document = self.metadata.document()
        entry = {"properties": {"bootstrap.servers": self._brokers["green"].bootstrap_servers}, "replaces": "blue"}
        document["clusters"] = {"green": entry}
        document["streams"]["orders"]["clusters"] = {"green": {"topics": [self.topic]}}
        self.metadata.path.write_text(json.dumps(document))

    def run(self) -> None:
        """Run the query until it has read everything."""
        reader = self._spark.readStream.format("dynamic-kafka").options(**self.options)
        reader = reader.option("metadataService", "file").option("streamIds", "orders")
        reader = reader.option("metadataService.path", str(self.metadata.path))
        writer = reader.load().writeStream.format("noop").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.checkpoint.folder)).start()
        assert query.awaitTermination(240)

    def planned(self) -> tuple[int, Any]:
        """Exit code, and the JSON or the reason, of the command."""
        done = command("plan", self.checkpoint.folder, self.metadata.path, "--json", "--timeout", "20")
        return done.exit_code, done.json or done.stderr

    def assert_done(self, id: str, expected: dict[int, int]) -> None:
        """Assert that the command, the procedure and then the next batch enter at these offsets."""
        code, found = self.planned()
        assert code == 0, found
        by = self.options["replacedClusterPolicy"]
        assert found["enters"] == [
            {"cluster": id, "topic": self.topic, "partition": p, "position": at, "by": by}
            for p, at in expected.items()
        ]
        rows = self._spark.sql(f"CALL streams.system.plan('{self.checkpoint.folder}')").collect()
        entered = [row for row in rows if row["change"] == "enters"]
        assert {row["partition"]: row["position"] for row in entered} == expected
        before = set(self.checkpoint.offsets())
        self.run()
        batches = self.checkpoint.offsets()
        first = batches[min(batches.keys() - before)]
        assert first["entered"][id][self.topic] == {str(p): at for p, at in expected.items()}
        read = sum(first["clusters"][id][self.topic][str(p)] - at for p, at in expected.items())
        assert found["next_batch"] == {"records": read, "clusters": {id: read}}


def failed_over(
    spark: SparkSession, brokers: Mapping[str, Cluster], folder: Path, first: int, **options: str
) -> Failover:
    scene = Failover(spark, brokers, folder, options)
    scene.write("blue", range(20))
    scene.write("green", range(first, 30))
    scene.point("blue", "blue")
    scene.run()
    return scene


@pytest.mark.test_all
def test_same_offsets(spark: SparkSession, brokers: dict[str, Cluster], tmp_path: Path) -> None:
    scene = failed_over(spark, brokers, tmp_path, 0, replacedClusterPolicy="same-offsets")
    scene.point("blue", "green")
    scene.assert_done("blue", {0: 10, 1: 10})


@pytest.mark.test_all
def test_same_offsets_with_other_records(spark: SparkSession, brokers: dict[str, Cluster], tmp_path: Path) -> None:
    scene = failed_over(spark, brokers, tmp_path, 2, replacedClusterPolicy="same-offsets")
    scene.point("blue", "green")
    code, reason = scene.planned()
    assert code == 1
    assert "CLUSTER_REPLACED" in reason and "the record at offset 9 has the time" in reason


@pytest.mark.test_all
def test_replaces_and_a_former_cluster_that_is_gone(
    spark: SparkSession, brokers: dict[str, Cluster], tmp_path: Path
) -> None:
    scene = failed_over(spark, brokers, tmp_path, 0, replacedClusterPolicy="same-offsets")
    (stored,) = scene.checkpoint.folder.rglob("topology/*.json")
    text = stored.read_text()
    address = brokers["blue"].bootstrap_servers
    assert address in text
    stored.write_text(text.replace(address, "127.0.0.1:1"))
    stored.with_name(f".{stored.name}.crc").unlink(missing_ok=True)
    scene.replace()
    scene.assert_done("green", {0: 10, 1: 10})


@pytest.mark.test_all
def test_mirror_maker(spark: SparkSession, brokers: dict[str, Cluster], tmp_path: Path) -> None:
    group = f"group-{uuid.uuid4().hex[:8]}"
    scene = failed_over(
        spark,
        brokers,
        tmp_path,
        -4,
        replacedClusterPolicy="mirror-maker",
        mirrorMakerSourceAlias=group,
        mirrorMakerReplicationPolicy="identity",
        commitOffsets="true",
        commitGroupId=group,
    )
    scene.point("blue", "green")
    topic = f"{group}.checkpoints.internal"
    code, reason = scene.planned()
    assert code == 1
    assert f"the new cluster has no topic '{topic}'" in reason
    brokers["green"].create_topic(topic, 1)
    producer = Producer({"bootstrap.servers": brokers["green"].bootstrap_servers})
    for partition, upstream, downstream in ((0, 8, 9), (1, 10, 12), (0, 400, 500)):
        texts = b"".join(struct.pack(">h", len(text)) + text.encode() for text in (group, scene.topic))
        value = struct.pack(">hqqh", 0, upstream, downstream, 0)
        producer.produce(topic, key=texts + struct.pack(">i", partition), value=value, partition=0)
    assert producer.flush(60) == 0
    scene.assert_done("blue", {0: 9, 1: 12})
