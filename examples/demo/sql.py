"""A SQL query over the stream of orders, a process of its own.

python -m demo.sql STREAMS_FILE
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import quickstart

QUERY = """
    SELECT cluster, count(*) AS orders, sum(amount) AS amount FROM streams.orders GROUP BY cluster ORDER BY cluster
"""


def main(streams: str) -> None:
    """Print the result as a line for each cluster."""
    spark = quickstart.session(
        SparkSession.builder.master("local[2]")
        .appName("demo-sql")
        .config("spark.ui.enabled", False)
        .config("spark.ui.showConsoleProgress", False)
        .config("spark.sql.shuffle.partitions", 1)
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.catalog.streams", "io.github.dynamickafka.DynamicKafkaCatalog")
        .config("spark.sql.catalog.streams.metadataService", "file")
        .config("spark.sql.catalog.streams.metadataService.path", streams)
    )
    for row in spark.sql(QUERY).collect():
        print(f"{row.cluster}: {row.orders} orders, amount {row.amount}")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
