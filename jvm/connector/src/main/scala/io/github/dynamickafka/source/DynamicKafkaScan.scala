package io.github.dynamickafka.source

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{Batch, Scan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.format.table.FormatOptionSpecs
import io.github.dynamickafka.gauge.GaugeNames
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.page.LivePage
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{
  AdminClusterClient,
  ClusterConfigs,
  ClusterStream,
  ClusterStreams,
  SharedClients,
  TopologyCheck
}
import io.github.dynamickafka.source.read.{
  BatchPlanner,
  DecodeCounts,
  Decoding,
  RecordTimes,
  SparkKafkaSource
}
import io.github.dynamickafka.source.report.{QueryReporter, TimeLags}
import io.github.dynamickafka.source.trigger.TopologyFeed
import io.github.dynamickafka.storage.SessionConfiguration
import io.github.dynamickafka.topology.{HasDatasets, TopicDataset}

private[source] final class DynamicKafkaScan(
    options: SourceOptions,
    schema: StructType,
    layout: Option[Layout] = None,
    answer: () => Option[KafkaStream] = () => None,
    clock: Clock = Clock.System
) extends Scan
    with HasDatasets {

  @volatile private var ofBatch: () => Seq[TopicDataset] = () => Nil

  /** Those of a batch read, once it is planned. */
  override def datasets: Seq[TopicDataset] = ofBatch()

  override def readSchema(): StructType = schema

  /** In plans and in the UI: the text that progress has. */
  override def description(): String = s"DynamicKafka[${options.subscription.text}]"

  override def toMicroBatchStream(checkpointLocation: String): MicroBatchStream = {
    val hadoop = hadoopConfiguration
    val checkpoint = new SourceCheckpoint(checkpointLocation, hadoop, options.remembered)
    val feed = new TopologyFeed(
      watcher(hadoop, options, None),
      () => checkpoint.newestTopology.map(_.current),
      ClusterConfigs.incomplete(options, _)
    )
    val streams = open()
    val (thread, spark) = (Thread.currentThread.getName, SparkSession.active.sparkContext)
    val times = RecordTimes(spark, options.limits.maxBytesPerTrigger.isDefined)
    val reporter = new QueryReporter(
      options.offsets.commit,
      checkpointLocation,
      streams,
      feed,
      clock,
      TimeLags(
        times,
        streams,
        clock,
        (since, at) => checkpoint.history.fold(TimeLags.noFiles)(_.clusters)(since, at)
      ),
      () => DynamicKafkaQueries.watermarkMs(SparkSession.active),
      options.page.flatMap(LivePage.show(
        _,
        spark,
        GaugeNames.query(thread),
        GaugeNames.part(checkpointLocation),
        options.subscription.text
      ))
    )
    val prefix = GaugeNames.prefix(thread, checkpointLocation)
    new DynamicMicroBatchStream(
      options.copy(clusters = options.clusters.named(prefix)),
      feed,
      streams,
      checkpoint,
      BatchPlanner(options, SparkKafkaSource.find()),
      reporter,
      clock,
      // Spark does not prune the columns of streaming queries.
      decoding.map(_.copy(onAccess = true)),
      Some(times)
    )
  }

  override def toBatch(): Batch = {
    options.format.deadLetters.foreach(_ =>
      throw Errors.invalidOption(
        FormatOptionSpecs.OnParseErrors.name,
        "dead-letter",
        "a batch read writes nothing: use 'fail', 'null', 'drop' or 'keep'."
      )
    )
    // No polling: a batch reads the metadata once.
    val once = options.copy(discovery = options.discovery.copy(intervalMs = -1))
    val hadoop = hadoopConfiguration
    new DynamicBatch(
      options,
      () => watcher(hadoop, once, answer()),
      () => open(),
      BatchPlanner(options, SparkKafkaSource.find()),
      decoding,
      found => ofBatch = found
    )
  }

  private def decoding: Option[Decoding] =
    layout.map(Decoding(_, DecodeCounts(SparkSession.active.sparkContext)))

  // With the default, Spark would plan every batch six times, because it checks whether each partition is columnar.
  override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED

  override def supportedCustomMetrics(): Array[CustomMetric] = SparkKafkaSource.find().metrics

  private def watcher(hadoop: Configuration, options: SourceOptions, known: Option[KafkaStream]) = {
    val service = MetadataServices.create(options.service, hadoop, known)
    MetadataWatcher(
      service,
      options.subscription,
      options.discovery,
      options.service.name,
      check = new TopologyCheck(options)
    )
  }

  private def open() =
    new ClusterStreams(
      new ClusterStream(
        _,
        _,
        clock,
        config => SharedClients.OfDriver.connect(config.properties.admin),
        Some(config => new AdminClusterClient(config.properties.admin))
      ),
      options.clusters.skipUnreachable,
      options.clusters.failureTimeoutMs,
      clock,
      options.clusters.snapshotMaxAgeMs
    )

  private def hadoopConfiguration: Configuration = SessionConfiguration.of(SparkSession.active)
}
