"""A client of a Connect server that uploads the connector's jars.

python -m tests.connect.artifacts URL STREAMS JAR ...
"""

from __future__ import annotations

import json
import sys

from dynamic_kafka import DynamicKafka, FileMetadataService
from pyspark.sql import SparkSession

from .reads import rows, run


def main(url: str, streams: str, *jars: str) -> None:
    """Print the records that were read."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    spark.addArtifacts(*jars)
    builder = DynamicKafka.builder(spark).set_kafka_metadata_service(FileMetadataService(streams))
    builder.set_stream_ids("orders")
    print(json.dumps({"batch": rows(builder.load_batch()), "stream": run(builder.load(), "orders")}))


if __name__ == "__main__":
    main(*sys.argv[1:])
