"""Real-time mode (since Spark 4.1) runs batches before it logs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dynamic_kafka import DynamicKafka, FileMetadataService, OffsetsInitializer
from dynamic_kafka_testkit import Cluster, Record, StoredRecord

from tests.harness.driver_process import REPOSITORY
from tests.harness.orders import Orders
from tests.harness.real_time_program import in_real_time
from tests.harness.session import session
from tests.harness.waiting import until


@pytest.mark.parametrize(
    ("guarantee", "allowlist", "error"),
    [
        ("at-least-once", True, "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"),
        # Without Spark's list the sink refuses before the first batch. Spark 4.3 refuses the sink at the start,
        # since the progress of this mode is asynchronous there (SPARK-58131).
        ("exactly-once", False, "DYNAMIC_KAFKA.EXACTLY_ONCE_REFUSED|does not support async progress tracking"),
    ],
)
def test_writing_in_it_is_refused(
    orders: Orders, brokers: dict[str, Cluster], tmp_path: Path, guarantee: str, allowlist: bool, error: str
) -> None:
    blue = brokers["blue"]
    source = f"real-time-{uuid.uuid4().hex[:8]}"
    blue.create_topic(source, partitions=1)
    blue.produce(source, [Record(0, "k", "v")])
    written = _visible(brokers, orders)
    with session({"spark.sql.streaming.realTimeMode.allowlistCheck": allowlist}) as spark:
        # A source that supports it.
        frame = spark.readStream.format("kafka").option("startingOffsets", "earliest")
        frame = frame.option("kafka.bootstrap.servers", blue.bootstrap_servers).option("subscribe", source)
        writer = frame.load().select("key", "value").writeStream.format("dynamic-kafka").outputMode("update")
        writer = writer.option("metadataService", "file").option("metadataService.path", str(orders.streams))
        writer = writer.option("streamId", "orders").option("deliveryGuarantee", guarantee)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        jvm: Any = spark._jvm
        # PySpark 4.1 has no method for this trigger.
        trigger = jvm.org.apache.spark.sql.streaming.Trigger.RealTime("5 seconds")
        writer._jwrite = writer._jwrite.trigger(trigger)
        with pytest.raises(Exception, match=error):
            writer.start().awaitTermination(60)
    assert _visible(brokers, orders) == written


def test_a_stream_is_copied(orders: Orders, brokers: dict[str, Cluster], tmp_path: Path) -> None:
    streams, copies = orders.with_copies(brokers, tmp_path, "green")
    service = FileMetadataService(streams)
    with session() as spark:
        read = DynamicKafka.builder(spark).set_kafka_metadata_service(service).set_stream_ids("orders")
        frame = read.set_starting_offsets(OffsetsInitializer.earliest()).load().select("value")
        write = DynamicKafka.writer(frame).set_kafka_metadata_service(service).set_stream_id("copies")
        writer = (
            write.write_stream().outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
        )
        query = in_real_time(spark, writer).start()
        until("copies", lambda: len(brokers["green"].dump(copies)) >= len(orders.expected))
        DynamicKafka.stop(query)
        assert not query.isActive
        values = sorted(str(record.value) for record in brokers["green"].dump(copies))
        assert values == sorted(row[3] for row in orders.expected)


@pytest.mark.test_all
def test_a_driver_that_is_killed_inside_a_batch(
    orders: Orders, brokers: dict[str, Cluster], tmp_path: Path
) -> None:
    """Nothing is lost, and only records of the batch that was not logged are written twice."""
    streams, copies = orders.with_copies(brokers, tmp_path, "green")
    checkpoint = tmp_path / "checkpoint"

    def written() -> list[str]:
        return sorted(str(record.value) for record in brokers["green"].dump(copies))

    expected = sorted(row[3] for row in orders.expected)
    with _driver(streams, checkpoint, tmp_path / "first.log") as first:
        until("copies", lambda: len(written()) >= len(expected))
        _stop(first)
    assert written() == expected

    blue = brokers["blue"]
    blue.produce(orders.topic, [Record(0, None, f"open-{i}") for i in range(5)])
    with _driver(streams, checkpoint, tmp_path / "second.log") as second:
        until("the open batch", lambda: len(written()) >= len(expected) + 5)
        logged = sorted(path.name for path in (checkpoint / "offsets").iterdir())
        os.killpg(second.pid, signal.SIGKILL)
        second.wait()
    assert logged == sorted(path.name for path in (checkpoint / "offsets").iterdir())

    blue.produce(orders.topic, [Record(0, None, "last")])
    with _driver(streams, checkpoint, tmp_path / "third.log") as third:
        until("the record after the crash", lambda: "last" in written())
        _stop(third)
    times = Counter(written())
    assert set(times) == {*expected, *(f"open-{i}" for i in range(5)), "last"}
    # The batch that was not logged is repeated; what was logged before is not.
    assert {times[f"open-{i}"] for i in range(5)} == {2}
    assert times["last"] == 1 and Counter(expected).items() <= times.items()


@contextmanager
def _driver(streams: Path, checkpoint: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A driver that copies the stream, in a process group of its own."""
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.real_time_program", str(streams), str(checkpoint)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n", log.read_text()[-3000:]
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the running batch, and then the query."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    assert process.stdout.readline() == b"stopped\n"
    process.wait(timeout=300)


def _visible(brokers: dict[str, Cluster], orders: Orders) -> list[StoredRecord]:
    return [r for name in ("blue", "green") for r in brokers[name].dump(orders.topic, committed_only=True)]
