package io.github.dynamickafka

import org.apache.spark.sql.{DataFrame, SparkSession}

/** The entry for Scala users. Everything that it does can be done with options of `format("dynamic-kafka")` as well. */
object DynamicKafka {

  /** The name of the data source. */
  val Format = "dynamic-kafka"

  /** Reads streams: name the metadata service and the streams, then `load()`. */
  def builder(spark: SparkSession): DynamicKafkaReaderBuilder = new DynamicKafkaReaderBuilder(spark)

  /** Writes to a stream: name the metadata service and the stream, then `start(checkpoint)` or `save()`. */
  def writer(frame: DataFrame): DynamicKafkaWriterBuilder = new DynamicKafkaWriterBuilder(frame)
}
