"""A client of a Connect server: the write path, by options alone and by the builder.

python -m tests.connect.writes URL STREAMS FOLDER
"""

from __future__ import annotations

import json
import sys

from dynamic_kafka import DynamicKafka
from pyspark.sql import SparkSession

from tests.harness.copies import read, stream, writer

from .refusals import Mine, refusal


def main(url: str, streams: str, folder: str) -> None:
    """Write the copies three times, and print the refusal."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    source = read(spark, streams)
    writer(source.load_batch(), streams).set_option("checkpointLocation", f"{folder}/jobs").save()
    stream(source.load(), streams, f"{folder}/checkpoint")
    options = {"metadataService": "file", "metadataService.path": streams, "clusterRouting": "all"}
    rows = source.load_batch().selectExpr("concat(cluster, ':', string(value)) AS value", "'copies' AS stream")
    rows.write.format("dynamic-kafka").options(**options).mode("append").save()
    python = DynamicKafka.writer(rows).set_kafka_metadata_service(Mine())
    misspelt = writer(rows.selectExpr("*", "'' AS cluster", "'' AS key", "'' AS topic"), streams)
    misspelt.set_options({"clusterRooting": "all"})
    found = {
        "session": type(spark).__module__,
        "python": refusal(python.save),
        "misspelt": refusal(misspelt.save),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
