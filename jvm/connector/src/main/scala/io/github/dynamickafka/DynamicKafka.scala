package io.github.dynamickafka

import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.github.dynamickafka.page.DriverPage
import io.github.dynamickafka.source.realtime.RealTimeQueries

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
   * Stops a query. In real-time mode its batch ends first and is logged, so that the next start repeats nothing; `query.stop()`
   * repeats what the batch has read.
   */
  def stop(query: StreamingQuery): Unit = RealTimeQueries.stop(query)

  /** The address of the page of this driver, if a query with the option `ui=true` has opened it. */
  def uiAddress: Option[String] = DriverPage.ofJar.address

  /**
   * A builder for writing to a stream: set the metadata service and the stream, then call `start(checkpoint)` or
   * `save()`.
   */
  def writer(frame: DataFrame): DynamicKafkaWriterBuilder = new DynamicKafkaWriterBuilder(frame)
}
