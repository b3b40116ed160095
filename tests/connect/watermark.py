"""A client of a Connect server: a query with a watermark over two clusters, of which green lags by 50 minutes.

python -m tests.connect.watermark URL STREAMS FOLDER
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(url: str, streams: str, folder: str) -> None:
    """Write the records, and count them by window."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    options = {"metadataService": "file", "metadataService.path": streams}
    rows = spark.range(80).selectExpr(
        "'copies' AS stream",
        "if(id < 20, 'blue', 'green') AS cluster",
        "CAST(id AS STRING) AS value",
        "timestamp_seconds(unix_timestamp() - 4000 + if(id < 20, 3000 + id, id)) AS timestamp",
    )
    rows.write.format("dynamic-kafka").options(**options).mode("append").save()
    source = spark.readStream.format("dynamic-kafka").options(
        **options, streamIds="copies", maxOffsetsPerTrigger="20"
    )
    counts = (
        source.load().withWatermark("timestamp", "10 seconds").groupBy(F.window("timestamp", "10 seconds")).count()
    )
    writer = counts.writeStream.format("memory").queryName("windows").outputMode("update")
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    assert query.awaitTermination(240)
    print(json.dumps({"rows": sum(p.numInputRows for p in query.recentProgress)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
