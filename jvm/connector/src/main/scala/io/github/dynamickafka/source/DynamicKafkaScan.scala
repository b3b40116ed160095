package io.github.dynamickafka.source

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory, Scan}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.format.table.FormatOptionSpecs
import io.github.dynamickafka.gauge.GaugeNames
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.metadata.{
  HasDatasets,
  KafkaStream,
  ReplacedClusterPolicy,
  TopicDataset,
  Topology
}
import io.github.dynamickafka.offset.{
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  NextOffset,
  OffsetRange,
  Positions,
  Reconcile,
  Transition
}
import io.github.dynamickafka.page.LivePage
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{
  AdminClusterClient,
  ClusterConfigs,
  ClusterQuestion,
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
import io.github.dynamickafka.source.trigger.{
  DuplicateClusters,
  LossPolicy,
  TopicPatterns,
  TopologyFeed,
  UnansweredPartitions
}
import io.github.dynamickafka.storage.SessionConfiguration

private[source] final class DynamicKafkaScan(
    options: SourceOptions,
    schema: StructType,
    layout: Option[Layout] = None,
    answer: () => Option[KafkaStream] = () => None,
    clock: Clock = Clock.System
) extends Scan
    with HasDatasets {

  @volatile private var ofBatch: () => Seq[TopicDataset] = () => Nil

  /** The topics of a batch read, once it is planned. */
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

/**
 * A batch read from start to stopping offsets, with one poll of the metadata service and one request to each cluster.
 *
 * @param found gets the topics that are read, for lineage; other threads call what it gets
 */
private[source] final class DynamicBatch(
    options: SourceOptions,
    watcher: () => MetadataWatcher,
    open: () => ClusterStreams,
    planner: BatchPlanner,
    decoding: Option[Decoding],
    found: (() => Seq[TopicDataset]) => Unit
) extends Batch {

  private val log = LoggerFactory.getLogger(classOf[DynamicBatch])

  private lazy val planned: (Topology, Array[InputPartition]) = Using.resource(watcher()) { metadata =>
    val topology = metadata.awaitFirst()
    topology -> Using.resource(open())(plan(topology, _))
  }

  override def planInputPartitions(): Array[InputPartition] = planned._2

  override def createReaderFactory(): PartitionReaderFactory =
    new ReaderFactory(decoding.map(ClusterDecoding.of(_, options, Seq(planned._1))))

  private def plan(answer: Topology, streams: ClusterStreams): Array[InputPartition] = {
    answer.histories.foreach { case (stream, history) =>
      log.info("A batch read does not read the history of stream '{}' at '{}'", stream, history.path)
    }
    val configs = ClusterConfigs(options, answer.clusters.keySet.toSet)
    val ofClusters = answer.clusters.map { case (id, c) => id -> configs(id, c.properties) }
    streams.set(ofClusters)
    val topology = new TopicPatterns(-1, streams, Clock.System)
      .expand(answer, CompositeOffset.empty, c => ofClusters(c.id), pinned = true, superseded = _ => false)
      .fold(answer)(_._1)
    configs.checkFirst(topology)
    val rules = Reconcile.Rules(
      -1,
      drainRemoved = false,
      (id, _, topic, _) => configs.starting(id, topic),
      (id, topic) => configs.ending(id, topic)
    )
    val starts = Reconcile(CompositeOffset.empty, topology, now = 0L, rules)
    val views = ask(streams, starts)
    configs.checkFirst(topology, views)
    if (!options.allowDuplicateClusters) DuplicateClusters.refuse(starts, views)
    UnansweredPartitions(options.clusters, Clock.System)
      .judge(views, (id, topic) => topology.clusters(id).topics(topic).stream, waits = false)
    val advance = NextOffset(CompositeOffset.empty, starts, views, ReplacedClusterPolicy.Fail, _ => true)
    if (options.failOnDataLoss) {
      advance.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, topology.clusters(id).topics(topic).stream)
      }
    }
    val _ = new LossPolicy(
      options.failOnDataLoss,
      graceMs = 0L
    ).judge(advance.losses, now = 0L, waitForTopics = false)
    found(() =>
      advance.spans.map(s => s.cluster -> s.topic).distinct.flatMap { case (id, topic) =>
        val stream = topology.clusters(id).topics(topic).stream
        TopicDataset.of(ofClusters(id).bootstrapServers, id, topic, Some(stream))
      }
    )
    planner.partitions(
      OffsetRange.ofAll(advance),
      streams(_),
      (id, topic) => topology.clusters(id).topics(topic).stream
    )
  }

  private def ask(streams: ClusterStreams, transition: Transition): Map[String, ClusterView] =
    streams.ask(
      transition.clusters.map { case (id, work: ClusterTransition) =>
        id -> ClusterQuestion(
          work.topics,
          Positions.empty,
          work.entering,
          work.ending,
          work.only,
          complete = true
        )
      },
      superseded = _ => false
    ).getOrElse(Map.empty)
}
