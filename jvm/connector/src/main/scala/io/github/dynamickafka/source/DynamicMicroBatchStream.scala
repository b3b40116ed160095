package io.github.dynamickafka.source

import java.util.Optional
import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.util.Try

import org.apache.spark.sql.connector.read.streaming.{
  MicroBatchStream,
  Offset,
  ReadLimit,
  ReportsSourceMetrics,
  SupportsTriggerAvailableNow
}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.{Acknowledgements, ClusterOptions, ClusterScope, DeliveryGuarantee}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.{DeadLetterOptions, FormatOptionSpecs}
import io.github.dynamickafka.metadata.{HasDatasetsOfBatch, TopicDataset, Topology}
import io.github.dynamickafka.offset.replacement.LastRecord
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  HandOver,
  HistoryPlan,
  LogKey,
  OffsetRange,
  ReadTime
}
import io.github.dynamickafka.source.checkpoint.InitialOffset
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterStreams}
import io.github.dynamickafka.source.history.{HistoryBatches, HistoryListing}
import io.github.dynamickafka.source.read.{
  BatchPlanner,
  DeadLetterTargets,
  Decoding,
  RecordTimes,
  ReportedTimes
}
import io.github.dynamickafka.source.realtime.{RealTimeBatches, RealTimeStream}
import io.github.dynamickafka.source.report.{QueryReporter, RecordCounts}
import io.github.dynamickafka.source.trigger.{
  Aligner,
  LastRecords,
  Limits,
  PlannedBatches,
  QueryState,
  ReplacedClusters,
  Replacements,
  Replay,
  TriggerPlanner,
  TriggerSnapshots
}

/**
 * The micro-batch stream over all clusters of a subscription, which may be added and removed while the query runs.
 *
 * The offsets are [[CompositeOffset]]s, which alone determine what a batch reads. Spark calls all of its methods from the
 * thread of the query. After the first answer of the metadata service, no method waits for the service.
 */
private[source] final class DynamicMicroBatchStream(
    state: QueryState,
    batchPlanner: BatchPlanner,
    reporter: QueryReporter,
    decoding: Option[Decoding] = None,
    recordTimes: Option[RecordTimes] = None
) extends SupportsTriggerAvailableNow
    with ReportsSourceMetrics
    with MicroBatchStream
    with HasDatasetsOfBatch
    with RealTimeStream {
  import state._

  private val log = LoggerFactory.getLogger(classOf[DynamicMicroBatchStream])

  /** What tasks have read of the log of a partition. */
  private def read(of: SortedMap[String, ClusterIdentity], key: LogKey): Option[ReportedTimes] =
    recordTimes.flatMap(_.found.in(of, key))

  private val lastRecords = new LastRecords(
    checkpoint,
    // The time of a record is the one that it has in Kafka.
    (at, key) =>
      read(at.identities, key).filter(_.written >= 0).map(t => LastRecord(t.last.offset, t.written))
  )
  private val replaced = new ReplacedClusters(
    options.changes.replaced,
    new Replacements(options.changes.replaced),
    lastRecords,
    streams,
    clock
  )
  private val snapshots = new TriggerSnapshots(state, new TriggerPlanner(state, replaced))
  private val layout = decoding.map(_.layout)
  private val histories = new HistoryBatches(options, layout, checkpoint)
  private val startOffset =
    new StartOffset(state, reporter.name.query, snapshots, new HistoryListing(layout)(_))
  private val aligner = new Aligner(
    options.batches.alignment,
    streams,
    next =>
      read(next.rest.identities, _).filter(_.greatest >= 0).map(t =>
        ReadTime(t.last.offset, t.last.time, t.greatest)
      ),
    clock
  )
  private val batches = new PlannedBatches(
    state,
    aligner,
    histories.unread,
    (next, span) => read(next.rest.identities, span.key).map(_.size)
  )
  private val partitions =
    new BatchPartitions(state, histories, batches, new Replay(state), batchPlanner, reporter)
  private var deserialized: Option[(String, CompositeOffset)] = None
  override protected lazy val realTime: RealTimeBatches = new RealTimeBatches(
    state,
    snapshots,
    reporter,
    () => BatchPlanner.settings(options),
    () => SparkSession.active.sparkContext.defaultParallelism,
    () => DynamicKafkaQueries.current(SparkSession.active),
    histories.pending
  )

  override def initialOffset(): Offset = {
    val offset = startOffset.get().offset
    reporter.begins(offset)
    offset
  }

  override def getDefaultReadLimit: ReadLimit = Limits.of(options.batches.limits)

  override def prepareForTriggerAvailableNow(): Unit = snapshots.prepareForAvailableNow()

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException(
      "latestOffset(Offset, ReadLimit) is called instead of this method"
    )

  override def latestOffset(from: Offset, limit: ReadLimit): Offset = {
    val start = from.asInstanceOf[CompositeOffset]
    checkpoint.ofQuery.begin()
    if (realTime.isOn) {
      checkpoint.ofQuery.refuseEdited()
      realTime.begin(start)
    } else {
      logged.starts(start)
      val files = if (aligner.isAligned(limit)) None else histories.next(start)
      files.fold(ofKafka(start, limit))(ofFiles(start, _))
    }
  }

  private def ofFiles(start: CompositeOffset, end: CompositeOffset): CompositeOffset = {
    snapshots.whileFilesAreRead(start) match {
      case Some(snapshot) =>
        val _ = latestOffsets.update(snapshot)
        reporter.triggered(start, snapshot, latestOffsets.current)
      case None => reporter.readsFiles(start, latestOffsets.current)
    }
    checkpoint.ofQuery.refuseEdited()
    logged.next(start, end)
  }

  private def ofKafka(start: CompositeOffset, limit: ReadLimit): CompositeOffset = {
    deferred.committed(start)
    val reached = deferred.reached(start)
    val snapshot = snapshots.next(reached)
    histories.logIgnored(snapshot.topology)
    val knownBefore = latestOffsets.update(snapshot)
    reporter.triggered(reached, snapshot, latestOffsets.current)
    snapshots.judgeUnanswered(snapshot)
    // With `AvailableNow`, no more records will arrive, so a batch does not wait for `minOffsetsPerTrigger`.
    val end =
      batches.end(start, snapshot, knownBefore, limit, clock.monotonicMs(), wait = !snapshots.isAvailableNow)
    if (end ne start) {
      checkpoint.ofQuery.refuseEdited()
      reporter.changed(start, end).foreach(log.info(_))
    }
    end
  }

  /** Every progress has it; the ids are in the start and end offsets. */
  override def reportLatestOffset(): Offset = snapshots.last.map(_.next.latest).orNull

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    reporter.reads(start.asInstanceOf[CompositeOffset])
    partitions.of(start.asInstanceOf[CompositeOffset], end.asInstanceOf[CompositeOffset])
  }

  override def createReaderFactory(): PartitionReaderFactory = {
    val stored = checkpoint.topology.toSeq.flatMap(t => Seq(t.former, t.current))
    // The topology of the trigger that has planned the batch; there is none if an earlier run has planned it.
    def topology = snapshots.last.fold(feed.current())(_.topology)
    def deadLetters =
      options.records.format.deadLetters.map(DeadLetterClusters(_, topology, streams, configs))
    new ReaderFactory(
      decoding.map(ClusterDecoding.of(_, options, stored :+ topology).copy(deadLetters = deadLetters)),
      recordTimes.map(_.ofTasks)
    )
  }

  /** Returns the same object for the same text: Spark reads the start offset again for each trigger. */
  override def deserializeOffset(json: String): CompositeOffset =
    deserialized.collect { case (`json`, known) => known }.getOrElse {
      val read = CompositeOffsetJson.read(json)
      deserialized = Some(json -> read)
      read
    }

  override def commit(end: Offset): Unit = {
    logged.committed(end.asInstanceOf[CompositeOffset])
    if (realTime.isOn) realTime.committed(end.asInstanceOf[CompositeOffset])
    else checkpoint.entries.committed(end.asInstanceOf[CompositeOffset])
    finished(end.asInstanceOf[CompositeOffset])
  }

  private def finished(end: CompositeOffset): Unit = {
    lastRecords.finished(end, deferred.reached(end))
    reporter.finished(end, deferred.reached(end), counts(end))
  }

  override def metrics(latestConsumedOffset: Optional[Offset]): ju.Map[String, String] = {
    // An exception would fail the query.
    val consumed = Try(latestConsumedOffset.map[CompositeOffset](offset => deserializeOffset(offset.json)))
    // Spark reports a batch when it is complete.
    val end = consumed.toOption.flatMap(found => Option(found.orElse(null)))
    val at = end.getOrElse(CompositeOffset.empty)
    end.foreach(finished(_))
    reporter.metrics.progress(Try(histories.pending(at)).getOrElse(0L))
  }

  private def counts(at: CompositeOffset): RecordCounts = RecordCounts(
    deferred.records(at),
    lost.total + recordTimes.fold(0L)(_.lost.sum),
    decoding.fold(0L)(_.counts.errors.sum),
    decoding.fold(0L)(_.counts.dropped.sum),
    decoding.fold(0L)(_.counts.deadLetters.sum),
    lost.repeated
  )

  /** Called by other threads than that of the query, perhaps when a later batch runs. */
  override def datasets(end: Offset): Seq[TopicDataset] = {
    val offset = end match {
      case composite: CompositeOffset => composite
      case logged => CompositeOffsetJson.read(logged.json)
    }
    SourceDatasets(
      options.clusters,
      checkpoint.knownTopology.toSeq.flatMap(_.all),
      offset
    )
  }

  override def stop(): Unit =
    Seq[() => Unit](
      () => realTime.close(),
      () => feed.close(),
      () => reporter.close(),
      () => streams.close(),
      () => lastRecords.close(),
      () => latestOffsets.close()
    ).foldRight(() => checkpoint.forgetPlan())((close, rest) =>
      () =>
        try close()
        finally rest()
    )()

  /** Spark shows it in progress and errors. */
  override def toString: String = s"DynamicKafka[${options.metadata.subscription.text}]"
}

/** The topics of a batch for lineage. Pure: it is called by other threads than that of the query. */
private[source] object SourceDatasets {

  /**
   * Also the topics without new records, so that the datasets of a query change only with its clusters and topics.
   *
   * @param topologies that have the clusters of the offset; the first one that has a cluster is used
   * @param end the end offset of the batch
   */
  def apply(options: ClusterOptions, topologies: Seq[Topology], end: CompositeOffset): Seq[TopicDataset] = {
    val scope = new ClusterScope(options, topologies.flatMap(_.clusters.keys).toSet)
    for {
      (id, positions) <- end.clusters.toSeq
      known = topologies.flatMap(_.clusters.get(id))
      cluster <- known.headOption.toSeq
      address = scope.consumer(id, cluster.properties).bootstrapServers
      topic <- positions.byTopic.keys.toSeq
      stream = known.flatMap(_.topics.get(topic)).headOption.map(_.stream)
      dataset <- TopicDataset.of(address, id, topic, stream)
    } yield dataset
  }
}

/** The producers of dead letters on the clusters that a batch may read. */
private[source] object DeadLetterClusters {

  def apply(
      letters: DeadLetterOptions,
      topology: Topology,
      streams: ClusterStreams,
      configs: ClusterConfigs.ByScope
  ): DeadLetterTargets = {
    val known = topology.clusters.keySet.toSet
    val configsOfKnown = configs(known)
    val chosen = letters.cluster
    for (id <- chosen if !known(id))
      throw Errors.invalidOption(
        FormatOptionSpecs.DeadLetterCluster.name,
        id,
        s"the cluster is not in the metadata, which has ${known.toSeq.sorted.mkString(", ")}."
      )
    val current = topology.clusters.values.map(c => c.id -> configsOfKnown.producer(c.id, c.properties)).toMap
    // Clusters of a logged batch that are no longer in the metadata.
    val others = (streams.ids -- known).map(id => id -> streams(id).config.producer)
    val all = current ++ others
    // A letter that is lost without a word is what dead letters are to prevent.
    for ((id, settings) <- all if chosen.forall(_ == id))
      Acknowledgements.check(DeliveryGuarantee.AtLeastOnce, id, settings.properties)
    val refused = chosen.map(topology.clusters(_).topics.values)
      .filter(topics => topics.nonEmpty && topics.forall(_.draining))
      .map(_ => "the cluster is draining, and takes no writes")
    DeadLetterTargets(letters.topic, chosen, all.withDefault(unknown), refused)
  }

  private def unknown(cluster: String) = throw Errors.missingOption(
    FormatOptionSpecs.DeadLetterCluster.name,
    s"cluster '$cluster' of a record of a history is not in the metadata. Set the option to the cluster for dead letters."
  )
}

/**
 * The partitions of logged batches: of one that this run has planned, or of one that an earlier run left. Used only by the
 * thread of the query.
 */
private[source] final class BatchPartitions(
    state: QueryState,
    histories: HistoryBatches,
    batches: PlannedBatches,
    replay: Replay,
    planner: BatchPlanner,
    reporter: QueryReporter
) {
  import state._

  private var last: Option[((CompositeOffset, CompositeOffset), Array[InputPartition])] = None

  /** Returns the same partitions for the same batch: Spark plans a batch several times. */
  def of(start: CompositeOffset, end: CompositeOffset): Array[InputPartition] =
    last.collect { case ((`start`, `end`), partitions) => partitions }.getOrElse {
      val ranges =
        if (end.history.nonEmpty && OffsetRange.between(start, end).isEmpty)
          SortedMap.empty[String, Seq[OffsetRange]]
        else batches.ranges(start, end).getOrElse(replay.open(start, end, isFirst = last.isEmpty))
      // Both only if Spark has not logged the batches in between.
      val partitions =
        histories.partitions(start, end) ++ planner.partitions(ranges, streams(_), checkpoint.streamOf)
      reporter.planned(end, ranges)
      checkpoint.planned()
      last = Some((start, end) -> partitions)
      partitions
    }
}

/**
 * Determines the start offset of batch 0, and what is read before Kafka: once, and durable before it is returned to Spark.
 *
 * @param query its name, for the log
 * @param histories lists the histories of a topology
 */
private[source] final class StartOffset(
    state: QueryState,
    query: String,
    snapshots: TriggerSnapshots,
    histories: Topology => HistoryPlan
) {
  import state._

  private val log = LoggerFactory.getLogger(classOf[StartOffset])

  /** The start offset in the checkpoint, or the one that is determined now. */
  def get(): InitialOffset = {
    checkpoint.refusePlainKafka()
    checkpoint.initial.getOrElse(determine())
  }

  private def determine(): InitialOffset = {
    val topology = feed.first()
    val history = Option.when(topology.histories.nonEmpty)(histories(topology))
    history.foreach(logLongFiles)
    val snapshot = snapshots.forStart(history.fold(HandOver.none)(_.handOver))
    if (options.clusters.failOnDataLoss) {
      snapshot.next.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, snapshot.topology.clusters(id).topics(topic).stream)
      }
    }
    val offset = history.fold(snapshot.position)(plan => snapshot.position.copy(history = plan.nothing))
    val unresolved = snapshot.views.collect { case (id, ClusterView.Unreachable) => id }.toSet
    val initial = InitialOffset(offset, unresolved, snapshot.unansweredTopics, history)
    checkpoint.remember(snapshot.topology, offset)
    checkpoint.writeInitial(initial)
    log.info("Query '{}' starts at {}", query: Any, offset.json: Any)
    initial
  }

  /** A file is read as a whole, so that its cluster is read ahead of others by the times of its records. */
  private def logLongFiles(history: HistoryPlan): Unit = for {
    alignment <- options.batches.alignment
    (stream, table) <- history.tables
    longest <- table.files.maxByOption(file => file.greatest - file.least)
    spanMs = longest.greatest - longest.least if spanMs >= alignment.maxDriftMs
  } log.warn(
    "Records of the file '{}' of the history of stream '{}' are up to {} ms apart, more than 'alignmentMaxDrift': a file is read as a " +
      "whole, so that a watermark with a delay of up to this time can drop records",
    longest.path,
    stream,
    spanMs
  )
}
