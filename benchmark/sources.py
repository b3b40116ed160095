"""The same records, read with the connector and with Spark's own source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from dynamic_kafka import DynamicKafka, FileMetadataService
from pyspark.sql import DataFrame, SparkSession

STREAM = "bench"

SAME_SETTINGS: Mapping[str, str] = {
    "receive.buffer.bytes": "-1",
    "max.partition.fetch.bytes": str(8 * 1024 * 1024),
    "fetch.max.wait.ms": "10",
}
"""The defaults that the connector sets."""


@dataclass(frozen=True)
class Member:
    """A cluster id and the topic to read there."""

    cluster_id: str
    bootstrap_servers: str
    topic: str


class StreamsFile:
    """The metadata of one stream, in Flink's format, which the connector also accepts."""

    def __init__(self, path: Path, members: Sequence[Member]) -> None:
        self.path = path
        self.write(members)

    def write(self, members: Sequence[Member]) -> None:
        """Replace the file atomically."""
        clusters = [
            {"clusterId": m.cluster_id, "bootstrapServers": m.bootstrap_servers, "topics": [m.topic]}
            for m in members
        ]
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps([{"streamId": STREAM, "clusterMetadataList": clusters}]))
        os.replace(part, self.path)


def builtin(spark: SparkSession, members: Sequence[Member], properties: Mapping[str, str]) -> DataFrame:
    """The union of one built-in source per cluster."""
    frames = (
        spark.readStream.format("kafka")
        .options(**{f"kafka.{name}": value for name, value in properties.items()})
        .option("kafka.bootstrap.servers", member.bootstrap_servers)
        .option("subscribe", member.topic)
        .option("startingOffsets", "earliest")
        .load()
        for member in members
    )
    return reduce(DataFrame.union, frames)


def product(
    spark: SparkSession,
    file: Path,
    properties: Mapping[str, str] | None = None,
    discovery_ms: int | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """All clusters as one stream of the connector."""
    builder = (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(file))
        .set_stream_ids(STREAM)
        .set_properties(properties or {})
    )
    if discovery_ms is not None:
        builder.set_metadata_discovery_interval(discovery_ms)
    return builder.set_options(options or {}).load()
