"""From which broker each executor fetches: a user's job on executors that know their rack from the environment.

    python -m tests.harness.racks MASTER STREAMS OPTIONS

OPTIONS is JSON: options by stream. Each stream has one topic, with its name, and is read to its end. The job prints a
JSON list of all records. Each has the rack of the executor that read it, and what the executor's Kafka consumers of
that topic report at that time.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from dynamic_kafka import DynamicKafka, FileMetadataService
from pyspark.sql import DataFrame, SparkSession

from .jars import connector_jars, testkit_jar
from .options import set_all

RACK = "KAFKA_RACK"
RECORDS_PER_BATCH = 100
_TRAFFIC = "io.github.dynamickafka.testkit.ConsumerTraffic"


def main(master: str, streams: str, options: dict[str, dict[str, str]]) -> None:
    """Read everything, each stream in several batches."""
    assert RACK not in os.environ, "only executors may know it"
    builder = SparkSession.builder.master(master).config(
        map={
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "512m",
            # All executors have registered before the first task, and a task waits for the one that it prefers.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
            "spark.locality.wait": "120s",
        }
    )
    spark = DynamicKafka.configure(builder, jars=[*connector_jars(), testkit_jar()]).getOrCreate()
    found: list[dict[str, Any]] = []

    def collect(frame: DataFrame, _: int) -> None:
        rows = frame.selectExpr(
            f"java_method('java.lang.System', 'getenv', '{RACK}') AS rack",
            "topic",
            "partition",
            "offset",
            "string(value) AS value",
            f"java_method('{_TRAFFIC}', 'bytes', topic) AS bytes",
            f"java_method('{_TRAFFIC}', 'follower', topic, partition) AS follower",
        )
        found.extend(row.asDict() for row in rows.collect())

    with tempfile.TemporaryDirectory() as checkpoints:
        for stream, of_stream in options.items():
            reader = DynamicKafka.builder(spark).set_kafka_metadata_service(FileMetadataService(streams))
            reader.set_stream_ids(stream).set_option("maxOffsetsPerTrigger", RECORDS_PER_BATCH)
            set_all(reader, of_stream)
            writer = reader.load().writeStream.foreachBatch(collect).trigger(availableNow=True)
            writer.option("checkpointLocation", str(Path(checkpoints) / stream)).start().awaitTermination()
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
