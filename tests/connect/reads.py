"""A client of a Connect server: the whole read path, by options alone and by the builder.

python -m tests.connect.reads URL STREAMS FOLDER START

START is the start position of blue in one of the reads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder, FileMetadataService, OffsetsInitializer
from pyspark.sql import DataFrame, SparkSession

COLUMNS = ("cluster", "partition", "offset", "CAST(value AS STRING)")


def rows(frame: DataFrame) -> list[list[object]]:
    """The cluster, partition, offset and value of all records."""
    return sorted((list(row) for row in frame.selectExpr(*COLUMNS).collect()), key=str)


def run(frame: DataFrame, name: str, checkpoint: Path | None = None) -> dict[str, Any]:
    """The records that a query with AvailableNow reads, and the metrics of its first and its last progress."""
    writer = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True)
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", str(checkpoint))
    query = writer.start()
    assert query.awaitTermination(240)
    progress = [json.loads(p.json) for p in query.recentProgress]
    first, last = (progress[i]["sources"][0]["metrics"] for i in (0, -1))
    return {"rows": rows(frame.sparkSession.table(name)), "first": first, "metrics": last}


def decoded(spark: SparkSession, options: dict[str, str]) -> list[list[object]]:
    """The values as text, decoded by the connector: by options, by the metadata, and as a table of a catalog."""
    by_options = spark.read.format("dynamic-kafka").options(**options, format="string").load()
    by_metadata = builder(spark, options["metadataService.path"]).set_format("metadata").load_batch()
    catalog = "spark.sql.catalog.streams"
    spark.conf.set(catalog, "io.github.dynamickafka.DynamicKafkaCatalog")
    for name, value in options.items():
        if name != "streamIds":
            spark.conf.set(f"{catalog}.{name}", value)
    spark.conf.set(f"{catalog}.format", "string")
    return [
        sorted(row.value for row in frame.select("value").collect())
        for frame in (by_options, by_metadata, spark.table("streams.orders"))
    ]


def builder(spark: SparkSession, streams: str) -> DynamicKafkaReaderBuilder:
    """A builder for the stream, with an example of each kind of setting."""
    return (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_pattern("orders")
        .set_starting_offsets(OffsetsInitializer.earliest())
        .set_property("isolation.level", "read_committed")
        .set_cluster_property("blue", "client.rack", "r1")
        .set_metadata_discovery_interval("1s")
        .set_option("includeHeaders", True)
    )


def main(url: str, streams: str, folder: str, start: str) -> None:
    """Print the records that were read."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    options = {"metadataService": "file", "metadataService.path": streams, "streamIds": "orders"}
    by_options = spark.read.format("dynamic-kafka").options(**options)
    limited = spark.readStream.format("dynamic-kafka").options(**options).option("maxOffsetsPerTrigger", 15)
    seen = {
        "session": type(spark).__module__,
        "batch": rows(by_options.load()),
        "from": rows(by_options.option("cluster.blue.startingOffsets", start).load()),
        "stream": run(limited.load(), "by_options"),
        "built_batch": rows(builder(spark, streams).load_batch()),
        "decoded": decoded(spark, options),
        "columns": builder(spark, streams).load().columns,
        "built": run(builder(spark, streams).load(), "by_builder", Path(folder) / "checkpoint"),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
