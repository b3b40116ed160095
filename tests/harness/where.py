"""Prints which executor reads which cluster: a program whose executors are separate processes.

    python -m tests.harness.where STREAMS

The output is JSON: a list of (executor, cluster, partition, records) for a batch query and for each batch of a
streaming query.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator

from dynamic_kafka import DynamicKafka, FileMetadataService
from dynamic_kafka.reader import DynamicKafkaReaderBuilder
from pyspark.sql import DataFrame, Row, SparkSession

from .jars import connector_jars

EXECUTORS = 2
RECORDS_PER_BATCH = 60


def _count(rows: Iterable[Row]) -> Iterator[tuple[int, str, int, int]]:
    # Python workers are children of a daemon, and each executor has one daemon.
    for (cluster, partition), records in Counter((row["cluster"], row["partition"]) for row in rows).items():
        yield os.getppid(), cluster, partition, records


def _places(frame: DataFrame) -> list[tuple[int, str, int, int]]:
    return sorted(frame.select("cluster", "partition").rdd.mapPartitions(_count).collect())


def main(streams: str) -> None:
    """Read the whole stream `orders` twice."""
    builder = SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]").config(
        map={
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            # All executors run before the first task, and a task waits for its preferred executor.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
            "spark.locality.wait": "120s",
        }
    )
    spark = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    service = FileMetadataService(streams)

    def stream() -> DynamicKafkaReaderBuilder:
        return DynamicKafka.builder(spark).set_kafka_metadata_service(service).set_stream_ids("orders")

    found = [_places(stream().set_starting_offsets("earliest").load_batch())]
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            stream()
            .set_option("maxOffsetsPerTrigger", RECORDS_PER_BATCH)
            .load()
            .writeStream.foreachBatch(lambda frame, _: found.append(_places(frame)))
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
