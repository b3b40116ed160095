package io.github.dynamickafka.source.plan

import java.util.concurrent.TimeUnit

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.source.cluster.ClusterStream
import io.github.dynamickafka.source.read.ReadSettings
import io.github.dynamickafka.source.spark.SparkKafkaSource

/** Plans the ranges of all clusters as the tasks of one batch, for [[ReaderFactory]]. Makes no requests. */
private[source] trait BatchPlanner {

  /**
   * @param stream the stream id of a (cluster, topic)
   */
  def partitions(
      ranges: SortedMap[String, Seq[OffsetRange]],
      clusters: String => ClusterStream,
      stream: (String, String) => String
  ): Array[InputPartition]
}

private[source] object BatchPlanner {

  /** The settings of all tasks of a query. */
  def settings(options: SourceOptions): ReadSettings = {
    // The default timeout of Spark's Kafka reader.
    val silence = SparkSession.active.sparkContext.getConf.getTimeAsSeconds("spark.network.timeout", "120s")
    ReadSettings(options.includeHeaders, options.failOnDataLoss, TimeUnit.SECONDS.toMillis(silence))
  }

  def apply(options: SourceOptions, source: SparkKafkaSource): BatchPlanner = {
    val splits = Splits(options.limits.minPartitions, options.limits.maxRecordsPerPartition)
    val ofTasks = settings(options)
    // Never connects to Kafka: only used to get the executors from Spark.
    val places = new ExecutorPlaces(
      source.stream(Map("kafka.bootstrap.servers" -> "localhost:9092", "subscribe" -> "places"), "places")
    )
    (ranges, clusters, stream) =>
      BundlePlanner.partitions(
        ranges,
        clusters(_).config.consumer,
        stream,
        ofTasks,
        splits,
        SparkSession.active.sparkContext.defaultParallelism,
        places.all()
      )
  }
}
