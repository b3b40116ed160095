"""Looks after a query from any session, over Spark Connect: lag, a plan, and a cluster that drains.

    python examples/procedures.py sc://localhost:15002 streams.yaml /checkpoints/orders

The server needs the connector, and access to the metadata file and the checkpoint; this client needs only PySpark. See
docs/procedures.md.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession

CATALOG = "spark.sql.catalog.streams"


def connected(url: str, streams: str) -> SparkSession:
    """A session with the catalog `streams`."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    spark.conf.set(CATALOG, "io.github.dynamickafka.DynamicKafkaCatalog")
    spark.conf.set(f"{CATALOG}.metadataService", "file")
    spark.conf.set(f"{CATALOG}.metadataService.path", streams)
    return spark


def by_cluster(lag: DataFrame) -> dict[str, int]:
    """The number of unread records of each cluster."""
    return {row.cluster: row.lag for row in lag.groupBy("cluster").sum("lag").toDF("cluster", "lag").collect()}


def main(url: str, streams: str, checkpoint: str) -> None:
    """Show what operators look at before and after a change, and drain the cluster with the most unread records."""
    spark = connected(url, streams)
    spark.sql("CALL streams.system.clusters()").show(truncate=False)
    lag = spark.sql(f"CALL streams.system.lag('{checkpoint}')")
    lag.show(truncate=False)
    unread = by_cluster(lag)
    busiest = max(unread, key=lambda cluster: unread[cluster])
    spark.sql(f"CALL streams.system.drain(cluster => '{busiest}')").show(truncate=False)
    # What the query will do about it in its next batch.
    spark.sql(f"CALL streams.system.plan('{checkpoint}')").show(truncate=False)
    spark.sql(f"CALL streams.system.activate(cluster => '{busiest}')").show(truncate=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
