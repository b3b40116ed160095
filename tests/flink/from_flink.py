"""A query starts where a Flink job has stopped: `make extra NAME=flink`.

Not a name that pytest looks for, because `make test` would have to fetch Flink, 83 MB.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dynamic_kafka_testkit import Cluster, Record, StoredRecord, Testkit
from pyspark.sql import SparkSession

from tests.harness.jars import REPOSITORY
from tests.harness.metadata import MetadataFile
from tests.harness.session import session
from tests.harness.waiting import until

# Flink with its connector for Kafka, and the compiled job.
_FLINK = REPOSITORY / "target" / "flink"
_STREAM = "payments"
_GROUP = "flink-totals"


@pytest.fixture(scope="module")
def clusters(testkit: Testkit) -> dict[str, Cluster]:
    """The clusters, with the topic."""
    named = dict(zip(("blue", "green"), testkit.start_all("blue", "green"), strict=True))
    for cluster in named.values():
        cluster.create_topic(_STREAM, 2)
    return named


@pytest.fixture(scope="module")
def spark(clusters: dict[str, Cluster]) -> Iterator[SparkSession]:
    """Ends before the clusters do."""
    with session() as running:
        yield running


class _Log:
    """What is in Kafka, and where a query has to start."""

    def __init__(self, clusters: dict[str, Cluster]) -> None:
        self._clusters = clusters

    def produce(self, prefix: str, count: int) -> set[str]:
        """Produce records to each cluster, and return their values."""
        for id, cluster in self._clusters.items():
            cluster.produce(_STREAM, [Record(n % 2, None, f"{id}-{prefix}-{n}") for n in range(count)])
        return {f"{id}-{prefix}-{n}" for id in self._clusters for n in range(count)}

    def records(self) -> list[tuple[str, StoredRecord]]:
        """All records, with the ids of their clusters."""
        return [(id, record) for id, cluster in self._clusters.items() for record in cluster.dump(_STREAM)]

    def committed(self) -> dict[str, dict[int, int]]:
        """The offsets of the group."""
        return {id: of.committed_offsets(_GROUP).get(_STREAM, {}) for id, of in self._clusters.items()}

    def is_all_committed(self) -> bool:
        """Whether Flink has committed the end of each log."""
        return self.committed() == {id: of.end_offsets(_STREAM) for id, of in self._clusters.items()}


@contextmanager
def _flink_job(folder: Path, clusters: dict[str, Cluster]) -> Iterator[Path]:
    """Run the job, and kill it. Its output has the values that it has processed."""
    out = folder / "flink.out"
    command = ["java", "-cp", f"{_FLINK / 'classes'}:{_FLINK / 'jars'}/*", "CommittingJob", _STREAM, _GROUP]
    command += [f"{id}={cluster.bootstrap_servers}" for id, cluster in clusters.items()]
    with out.open("wb") as stdout, (folder / "flink.log").open("wb") as stderr:
        job = subprocess.Popen(command, stdout=stdout, stderr=stderr)
    try:
        yield out
        assert job.poll() is None, (folder / "flink.log").read_text()[-6000:]
    finally:
        job.kill()
        job.wait()


def _read(spark: SparkSession, metadata: Path, checkpoint: Path, **options: str) -> list[str]:
    """The values that a query reads to the end."""
    values: list[str] = []
    reader = spark.readStream.format("dynamic-kafka").option("metadataService", "file").options(**options)
    frame = reader.option("metadataService.path", str(metadata)).option("streamIds", _STREAM).load()
    texts = frame.selectExpr("CAST(value AS STRING) AS value")
    writer = texts.writeStream.foreachBatch(lambda rows, _: values.extend(row.value for row in rows.collect()))
    writer.trigger(availableNow=True).option("checkpointLocation", str(checkpoint)).start().awaitTermination()
    return values


def test_a_query_starts_at_the_offsets_that_a_flink_job_has_committed(
    spark: SparkSession, clusters: dict[str, Cluster], tmp_path: Path
) -> None:
    log = _Log(clusters)
    file = MetadataFile(tmp_path / "streams.json")
    for id, cluster in clusters.items():
        file.cluster(id, cluster.bootstrap_servers)
    metadata = file.stream(_STREAM, {id: [_STREAM] for id in clusters}).write().path

    first = log.produce("first", 200)
    with _flink_job(tmp_path, clusters) as out:
        until("Flink commits the ends", log.is_all_committed)
        stopped_ms = time.time_ns() // 1_000_000
        second = log.produce("second", 200)
        until("Flink has read on", lambda: len(out.read_text().splitlines()) > len(first))
    processed = set(out.read_text().splitlines())
    committed = log.committed()

    by_group = {"startingOffsets": "committed", "commitGroupId": _GROUP}
    values = _read(spark, metadata, tmp_path / "by-group", **by_group)
    beyond = [record.value for id, record in log.records() if record.offset >= committed[id][record.partition]]
    assert sorted(values) == sorted(map(str, beyond))
    assert first.isdisjoint(values)
    assert processed | set(values) == first | second

    # By the time of the last checkpoint, if there is no group.
    by_time = {"startingOffsets": f"timestamp:{stopped_ms}"}
    assert set(_read(spark, metadata, tmp_path / "by-time", **by_time)) == second

    # From then on, the checkpoint of the query holds.
    third = log.produce("third", 20)
    assert set(_read(spark, metadata, tmp_path / "by-group", **by_group)) == third
    print(f"committed by Flink: {committed}; processed {len(processed)}, read {len(values)}")
