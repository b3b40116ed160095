"""Copies the stream `orders` to the stream `archive`, exactly once. Both are defined in a ConfigMap.

    query.py CHECKPOINT

CHECKPOINT is a directory that outlives the driver's pod: s3a://…, abfss://…, gs://…, hdfs://….
"""

from __future__ import annotations

import sys

from dynamic_kafka import DynamicKafka, KubernetesConfigMapMetadataService, OffsetsInitializer
from pyspark.sql import SparkSession


def main() -> None:
    """Run until the pod is deleted."""
    checkpoint = sys.argv[1]
    spark = SparkSession.builder.appName("orders-archive").getOrCreate()
    streams = KubernetesConfigMapMetadataService("data", "kafka-streams", "streams.yaml")
    orders = (
        DynamicKafka.builder(spark)
        .set_kafka_metadata_service(streams)
        .set_stream_ids("orders")
        .set_starting_offsets(OffsetsInitializer.earliest())
        .load()
    )
    (
        DynamicKafka.writer(orders.select("key", "value"))
        .set_kafka_metadata_service(streams)
        .set_stream_id("archive")
        .set_delivery_guarantee("exactly-once")
        .set_transactional_id_prefix("orders-archive")
        .write_stream()
        .option("checkpointLocation", checkpoint)
        .start()
        .awaitTermination()
    )


if __name__ == "__main__":
    main()
