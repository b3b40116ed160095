package io.github.dynamickafka.source.plan

import java.util.concurrent.TimeUnit

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

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
  private val log = LoggerFactory.getLogger(classOf[BatchPlanner])
  private val DelegationTokens = "spark.kafka.clusters."

  def apply(options: SourceOptions, source: SparkKafkaSource): BatchPlanner = {
    val conf = SparkSession.active.sparkContext.getConf
    val splits = Splits(options.limits.minPartitions, options.limits.maxRecordsPerPartition)
    if (conf.getAll.exists(_._1.startsWith(DelegationTokens))) {
      log.info("Delegation tokens are configured ({}*): using Spark's Kafka reader", DelegationTokens)
      new SparkPlanner(splits)
    } else {
      // The default timeout of Spark's Kafka reader.
      val silenceMs = TimeUnit.SECONDS.toMillis(conf.getTimeAsSeconds("spark.network.timeout", "120s"))
      ranges(ReadSettings(options.includeHeaders, options.failOnDataLoss, silenceMs), splits, source)
    }
  }

  private def ranges(settings: ReadSettings, splits: Splits, source: SparkKafkaSource): BatchPlanner = {
    // Never connects to Kafka: only used to get the executors from Spark.
    val places = new ExecutorPlaces(
      source.stream(Map("kafka.bootstrap.servers" -> "localhost:9092", "subscribe" -> "places"), "places")
    )
    (ranges, clusters, stream) =>
      BundlePlanner.partitions(
        ranges,
        clusters(_).config.consumer,
        stream,
        settings,
        splits,
        SparkSession.active.sparkContext.defaultParallelism,
        places.all()
      )
  }
}
