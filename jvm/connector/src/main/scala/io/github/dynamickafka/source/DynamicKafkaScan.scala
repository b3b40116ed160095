package io.github.dynamickafka.source

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{
  Batch,
  InputPartition,
  PartitionReader,
  PartitionReaderFactory,
  Scan
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.format.table.FormatOptionSpecs
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.metadata.{
  HasDatasets,
  KafkaStream,
  ReplacedClusterPolicy,
  TopicDataset,
  Topology
}
import io.github.dynamickafka.offset.{CompositeOffset, NextOffset, OffsetRange, Reconcile}
import io.github.dynamickafka.page.{DriverPage, QueryName}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterStream, ClusterStreams, TopologyCheck}
import io.github.dynamickafka.source.history.{HistoryPartition, HistoryReader}
import io.github.dynamickafka.source.read.{
  BatchPlanner,
  BundleReader,
  ConsumerPool,
  DecodeCounts,
  Decoding,
  RangeBundle,
  ReadAhead,
  ReaderMetrics,
  RecordTimes,
  SharedTask,
  SharedTaskReader,
  SparkKafkaSource,
  TaskDecoder,
  TaskTimes
}
import io.github.dynamickafka.source.realtime.{RealTimeReader, RealTimeReaders, RealTimeTask}
import io.github.dynamickafka.source.report.{QueryReporter, TimeLags}
import io.github.dynamickafka.source.trigger.{
  DuplicateClusters,
  LossPolicy,
  QueryState,
  TopicPatterns,
  TopologyFeed,
  TriggerPlanner,
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

  /** The text in plans and in the UI, which progress has too. */
  override def description(): String = s"DynamicKafka[${options.metadata.subscription.text}]"

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
    val times = RecordTimes(spark, options.batches.limits.maxBytesPerTrigger.isDefined)
    val subscription = options.metadata.subscription
    val number = checkpointLocation.split('/').lastOption.getOrElse("")
    val name = QueryName.of(thread, subscription.name, number)
    val named = options.copy(clusters = options.clusters.named(name.gauges))
    val state = new QueryState(named, feed, streams, checkpoint, clock)
    val reporter = new QueryReporter(
      state,
      name,
      TimeLags(
        times,
        streams,
        clock,
        (since, at) => checkpoint.history.fold(TimeLags.noFiles)(_.clusters)(since, at)
      ),
      () => DynamicKafkaQueries.watermarkMs(SparkSession.active),
      options.page.flatMap(DriverPage.ofJar.show(
        _,
        spark,
        name.query,
        name.part,
        subscription.text
      ))
    )
    new DynamicMicroBatchStream(
      state,
      new BatchPlanner(options),
      reporter,
      // Spark does not prune the columns of streaming queries.
      decoding.map(_.copy(onAccess = true)),
      Some(times)
    )
  }

  override def toBatch(): Batch = {
    options.records.format.deadLetters.foreach(_ =>
      throw Errors.invalidOption(
        FormatOptionSpecs.OnParseErrors.name,
        "dead-letter",
        "a batch read writes nothing: use 'fail', 'null', 'drop' or 'keep'."
      )
    )
    // No polling: a batch reads the metadata once.
    val metadata = options.metadata
    val once = options.copy(metadata = metadata.copy(discovery = metadata.discovery.once))
    val hadoop = hadoopConfiguration
    new DynamicBatch(
      options,
      () => watcher(hadoop, once, answer()),
      () => open(),
      new BatchPlanner(options),
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
    val service = MetadataServices.create(options.metadata.service, hadoop, known)
    MetadataWatcher(
      service,
      options.metadata.subscription,
      options.metadata.discovery,
      options.metadata.service.name,
      check = new TopologyCheck(options)
    )
  }

  private def open() =
    new ClusterStreams(
      new ClusterStream(_, _, clock),
      options.clusters.unreachable.skip,
      options.clusters.unreachable.timeoutMs,
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
    val questions = starts.clusters.map { case (id, work) =>
      id -> TriggerPlanner.question(work, complete = true, afterwards = false)
    }
    val views = streams.ask(questions, superseded = _ => false).getOrElse(Map.empty)
    configs.checkFirst(topology, views)
    if (!options.changes.allowDuplicates) DuplicateClusters.refuse(starts, views)
    UnansweredPartitions(options.clusters, Clock.System)
      .judge(views, (id, topic) => topology.clusters(id).topics(topic).stream, waits = false)
    val advance = NextOffset(CompositeOffset.empty, starts, views, ReplacedClusterPolicy.Fail, _ => true)
    if (options.clusters.failOnDataLoss) {
      advance.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, topology.clusters(id).topics(topic).stream)
      }
    }
    val _ = new LossPolicy(
      options.clusters.failOnDataLoss,
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
}

/**
 * Creates the readers, on executors, for the partitions of a [[BatchPlanner]], and for those of histories.
 *
 * @param decoding None: the columns of Spark's Kafka source, then `cluster` and `stream`
 * @param times gets the times of the records
 */
private[source] final class ReaderFactory(decoding: Option[Decoding], times: Option[TaskTimes] = None)
    extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val decoder = decoding.map(new TaskDecoder(_))
    partition match {
      case bundle: RangeBundle =>
        new BundleReader(
          bundle,
          ConsumerPool.shared,
          ReadAhead.shared,
          new ReaderMetrics(times.map(_.lost)),
          decoder,
          times
        )
      case history: HistoryPartition => new HistoryReader(history, decoder)
      case task: SharedTask =>
        new SharedTaskReader(
          task,
          ConsumerPool.shared,
          ReadAhead.shared,
          SharedTaskReader.threads,
          decoder,
          times
        )
      case task: RealTimeTask =>
        RealTimeReaders.of(new RealTimeReader(task, ConsumerPool.shared, decoder, times.map(_.lost)))
      case other =>
        throw new IllegalArgumentException(s"not a partition of this source: ${other.getClass.getName}")
    }
  }
}

/** Adds the registries of clusters, which topologies name, to the decoding of a query. */
private[source] object ClusterDecoding {

  /**
   * @param topologies those that a batch may read, the newest one last
   * @throws DynamicKafkaIllegalArgumentException MISSING_OPTION for a cluster without a registry, before a task finds it
   */
  def of(base: Decoding, options: SourceOptions, topologies: Seq[Topology]): Decoding = {
    val registries = (for {
      topology <- topologies
      (id, cluster) <- topology.clusters.toSeq
      topic <- cluster.topics.values.toSeq ++ cluster.patterns.map(_.topic)
    } yield (id, topic.stream) -> topic.registry).toMap.map { case (of, metadata) =>
      of -> options.records.registries.of(metadata)
    }
    for {
      ((cluster, _), registry) <- registries
      layout = base.layout.in(registry)
      side <- layout.value +: layout.key.toSeq if side.format.format.registry.exists(_.isRequired)
    } {
      val _ = side.format.registries.of(cluster)
    }
    base.copy(registries = registries)
  }
}
