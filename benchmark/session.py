"""The Spark session of all measurements."""

from __future__ import annotations

import pyspark
from dynamic_kafka import DynamicKafka
from pyspark.sql import SparkSession

from benchmark.paths import connector_jars


def start() -> SparkSession:
    """Start a session with two cores, no output, and as little history of past queries as Spark allows."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("dynamic-kafka-benchmark")
        .config("spark.driver.memory", "3g")
        # Spark's from_avro, to compare with.
        .config("spark.jars.packages", f"org.apache.spark:spark-avro_2.13:{pyspark.__version__}")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.retainedJobs", "5")
        .config("spark.ui.retainedStages", "5")
        .config("spark.ui.retainedTasks", "1000")
        .config("spark.sql.ui.retainedExecutions", "5")
        .config("spark.sql.streaming.numRecentProgressUpdates", "2000")
    )
    spark = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    # Spark logs errors at each stop() in the middle of a batch. A failed query fails its step anyway.
    spark.sparkContext.setLogLevel("FATAL")
    return spark
