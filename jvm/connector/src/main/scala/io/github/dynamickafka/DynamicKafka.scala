package io.github.dynamickafka

import org.apache.spark.sql.{DataFrame, SparkSession}

/**
 * The entry point of the Scala API. It only sets options: everything is also available through options of
 * `format("dynamic-kafka")`.
 */
object DynamicKafka {

  /** The name of the data source. */
  val Format = "dynamic-kafka"

  /** A builder for reading streams: set the metadata service and the streams, then call `load()` or `loadBatch()`. */
  def builder(spark: SparkSession): DynamicKafkaReaderBuilder = new DynamicKafkaReaderBuilder(spark)

  /**
   * A builder for writing to a stream: set the metadata service and the stream, then call `start(checkpoint)` or
   * `save()`.
   */
  def writer(frame: DataFrame): DynamicKafkaWriterBuilder = new DynamicKafkaWriterBuilder(frame)
}
