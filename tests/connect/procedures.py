"""A client of a Connect server: procedures.

python -m tests.connect.procedures URL STREAMS CHECKPOINT
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

from .refusals import refusal


def main(url: str, streams: str, checkpoint: str) -> None:
    """Print the answers."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    spark.conf.set("spark.sql.catalog.operated", "io.github.dynamickafka.DynamicKafkaCatalog")
    spark.conf.set("spark.sql.catalog.operated.metadataService", "file")
    spark.conf.set("spark.sql.catalog.operated.metadataService.path", streams)
    reading = spark.readStream.table("operated.orders").writeStream.format("noop").trigger(availableNow=True)
    assert reading.option("checkpointLocation", checkpoint).start().awaitTermination(240)

    def call(text: str) -> list[dict[str, Any]]:
        return [row.asDict() for row in spark.sql(f"CALL operated.system.{text}").collect()]

    found = {
        "session": type(spark).__module__,
        "streams": call("streams()"),
        "lag": [row["lag"] for row in call(f"lag('{checkpoint}')")],
        "drain": call("drain('green')"),
        "plan": [[row["change"], row["cluster"]] for row in call(f"plan('{checkpoint}')")],
        "reset": call(f"reset('{checkpoint}', 'blue', 'earliest')"),
        "unknown": refusal(lambda: call("lags()")),
        "refused": refusal(lambda: call("drain('gren')")),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
