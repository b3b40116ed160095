"""Upserts the changes of a database, which Debezium writes to several Kafka clusters, into an Iceberg table.

    python examples/change_data.py STREAMS WAREHOUSE CHECKPOINT

The stream `customers` in the metadata file STREAMS has Debezium's records; docs/change-data.md explains the steps. It
needs PySpark 4.1, the newest line for which Iceberg has a release, and the connector of that line.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder, FileMetadataService, OffsetsInitializer
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

# The jars of `./sbt -DsparkLine=4.1 connector/localJars`. Without them Spark fetches the published connector.
JARS = sorted(Path(__file__).resolve().parents[1].glob("jvm/connector/target/line-4.1/jars/*.jar"))
ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


def session(builder: SparkSession.Builder, warehouse: str) -> SparkSession:
    """A session that has the connector and Iceberg."""
    builder = (
        builder.config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.lake.type", "hadoop")
        .config("spark.sql.catalog.lake.warehouse", warehouse)
        # The batches of a query have a session of their own: with a cache, this one would see the table as it was.
        .config("spark.sql.catalog.lake.cache-enabled", "false")
    )
    return DynamicKafka.configure(builder, extra_packages=ICEBERG, jars=JARS or None).getOrCreate()


def changes(spark: SparkSession, streams: str) -> DynamicKafkaReaderBuilder:
    """The changes on all clusters, as rows."""
    return (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_ids("customers")
        .set_starting_offsets(OffsetsInitializer.earliest())
        .set_format("debezium-json")
        .set_schema("id BIGINT, name STRING, credit DECIMAL(10, 2)")
        .set_metadata_columns("value.source.properties")
    )


# The code of docs/change-data.md begins.
def create(spark: SparkSession) -> None:
    """With the position of the last change of each row, and whether that was its deletion."""
    spark.sql(
        """
        CREATE TABLE IF NOT EXISTS lake.shop.customers
          (id BIGINT, name STRING, credit DECIMAL(10, 2), lsn BIGINT, deleted BOOLEAN) USING iceberg
        """
    )


def upsert(batch: DataFrame, batch_id: int) -> None:
    """Applies a batch. Applying it again, or an older one, changes nothing."""
    changes = batch.selectExpr(
        "id",
        "name",
        "credit",
        "COALESCE(CAST(source_properties['lsn'] AS BIGINT), raise_error('a change has no lsn')) AS lsn",
        "_change_type IN ('delete', 'update_preimage') AS deleted",
    )
    # Of the two rows of an update, the row after it counts; the row before it does if the update changed the key.
    newest_first = Window.partitionBy("id").orderBy(F.desc("lsn"), "deleted")
    newest = changes.withColumn("n", F.row_number().over(newest_first)).where("n = 1").drop("n")
    newest.createOrReplaceTempView("changes")
    batch.sparkSession.sql(
        """
        MERGE INTO lake.shop.customers t USING changes s ON t.id = s.id
        WHEN MATCHED AND s.lsn > t.lsn THEN UPDATE SET *
        WHEN NOT MATCHED THEN INSERT *
        """
    )


def current(spark: SparkSession) -> DataFrame:
    """The rows of the changed table."""
    return spark.sql("SELECT id, name, credit FROM lake.shop.customers WHERE NOT deleted")


# The code of docs/change-data.md ends.
def main(streams: str, warehouse: str, checkpoint: str) -> None:
    """Run until interrupted."""
    spark = session(SparkSession.builder.appName("change-data"), warehouse)
    create(spark)
    query = changes(spark, streams).load().writeStream.foreachBatch(upsert)
    query.option("checkpointLocation", checkpoint).start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
