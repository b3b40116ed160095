"""The Spark session that all is measured in."""

from __future__ import annotations

from dynamic_kafka import DynamicKafka
from pyspark.sql import SparkSession

from benchmark.paths import connector_jars


def start() -> SparkSession:
    """Two cores, quiet, and with as little memory of past queries as Spark allows."""
    builder = (
        SparkSession.builder.master("local[2]")
        .appName("dynamic-kafka-benchmark")
        .config("spark.driver.memory", "3g")
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
    # Each stop() of a query in the middle of a batch is told as errors; a query that fails fails its step.
    spark.sparkContext.setLogLevel("FATAL")
    return spark
