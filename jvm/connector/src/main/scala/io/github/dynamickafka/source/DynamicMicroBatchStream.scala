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
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.lineage.{HasDatasetsOfBatch, TopicDataset}
import io.github.dynamickafka.offset.{
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  OffsetRange,
  Positions
}
import io.github.dynamickafka.source.checkpoint.{InitialOffset, LoggedOffsets, SourceCheckpoint}
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterStreams}
import io.github.dynamickafka.source.plan.BatchPlanner
import io.github.dynamickafka.source.read.Decoding
import io.github.dynamickafka.source.report.{Lags, OffsetChangeText, QueryReporter, SourceMetrics}
import io.github.dynamickafka.source.trigger.{
  DeferredRanges,
  KnownEnds,
  Limits,
  LossPolicy,
  LostRecords,
  Replay,
  TopologyFeed,
  TriggerPlanner,
  TriggerSnapshot,
  UnansweredPartitions
}
import io.github.dynamickafka.time.Clock
import io.github.dynamickafka.topology.{OffsetsPolicy, Topology, TopologyTopic}

/**
 * The micro-batch stream over all clusters of a subscription, which may be added and removed while the query runs.
 *
 * Its offsets are [[CompositeOffset]]s, which alone determine what a batch reads. Spark calls all of its methods from the
 * thread of the query. After the first answer of the metadata service, no method waits for the service.
 */
private[source] final class DynamicMicroBatchStream(
    options: SourceOptions,
    feed: TopologyFeed,
    streams: ClusterStreams,
    memory: SourceCheckpoint,
    planner: BatchPlanner,
    watch: QueryReporter,
    clock: Clock,
    decoding: Option[Decoding] = None
) extends SupportsTriggerAvailableNow
    with ReportsSourceMetrics
    with MicroBatchStream
    with HasDatasetsOfBatch {
  import DynamicMicroBatchStream._

  private val log = LoggerFactory.getLogger(classOf[DynamicMicroBatchStream])
  private val configs = new ClusterConfigs.ByScope(options)
  private val losses = new LossPolicy(options.failOnDataLoss, MissingTopicGraceMs, feed)
  private val step = new TriggerPlanner(options, configs, streams, feed, memory, losses, clock)
  private val deferred = new DeferredRanges(memory, options.deferWithState)
  private val lost = new LostRecords
  private val logged = new LoggedOffsets
  private val replay = new Replay(options, configs, feed, streams, memory, deferred, lost)
  private val limits = new Limits(id => currentConfigs().maxOffsetsPerTrigger(id))

  private val unanswered = UnansweredPartitions(options.clusters, clock)
  private lazy val atStart = memory.initial
  private var resolved: Option[(Topology, ClusterConfigs)] = None
  private var availableNow = false
  private var pinned: Option[Map[String, ClusterView]] = None
  private var initialLook: Option[InitialLook] = None
  private var last: Option[TriggerSnapshot] = None
  private val ends = new KnownEnds
  private val ofClusters = decoding.map(new ClusterDecoding(_, options))
  private var made: Option[Made] = None
  private val lags = new Lags
  private var read: Option[(String, CompositeOffset)] = None
  private var planned: Option[((CompositeOffset, CompositeOffset), Array[InputPartition])] = None

  /** The same text is the same object: Spark reads the start offset again for each trigger. */
  override def deserializeOffset(json: String): Offset = offsetOf(json)

  private def offsetOf(json: String): CompositeOffset =
    read.collect { case (`json`, offset) => offset }.getOrElse {
      val offset = CompositeOffsetJson.read(json)
      read = Some(json -> offset)
      offset
    }

  /** The start offset of batch 0: resolved once, and durable before it is returned to Spark. */
  override def initialOffset(): Offset = {
    memory.refusePlainKafka()
    val offset = memory.initial.getOrElse(resolveInitial()).offset
    watch.begins(offset)
    offset
  }

  private def resolveInitial(): InitialOffset = {
    val _ = feed.first()
    // Before the clusters are asked: it may change meanwhile.
    val topology = feed.current()
    currentConfigs().checkEnding()
    val look =
      step.look(
        CompositeOffset.empty,
        (id, _, topic, _) => currentConfigs().starting(id, topic),
        None,
        complete = true
      )
    judgeUnanswered(look, waits = false)
    if (options.failOnDataLoss) {
      look.advance.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, look.topology.clusters(id).topics(topic).stream)
      }
    }
    val _ = losses.judge(look.advance.losses, clock.currentTimeMillis(), waitForTopics = false)
    val offset = look.advance.offset(look.advance.spans.map(_ => 0L)).copy(entered = SortedMap.empty)
    val unresolved = look.views.collect { case (id, ClusterView.Unreachable) => id }.toSet
    val initial = InitialOffset(offset, unresolved, look.unansweredTopics)
    memory.remember(look.topology, offset)
    memory.writeInitial(initial)
    initialLook = Some(InitialLook(topology, offset, look))
    log.info("The query starts at {}", offset.json)
    initial
  }

  override def getDefaultReadLimit: ReadLimit = {
    val of = options.limits
    Limits.limit(of.minOffsetsPerTrigger, of.maxTriggerDelayMs, of.maxOffsetsPerTrigger)
  }

  override def prepareForTriggerAvailableNow(): Unit = availableNow = true

  override def latestOffset(): Offset =
    throw new UnsupportedOperationException(
      "latestOffset(Offset, ReadLimit) is called instead of this method"
    )

  override def latestOffset(from: Offset, limit: ReadLimit): Offset = {
    val start = from.asInstanceOf[CompositeOffset]
    if (availableNow && pinned.isEmpty) {
      feed.pin()
      // At a first start: what was there when the run began.
      pinned = initialLook.filter(_.isOf(feed.current(), start)).map(_.look.views)
    }
    logged.starts(start)
    deferred.committed(start)
    val reached = deferred.reached(start)
    val look = lookAt(reached)
    if (availableNow) pinned = Some(look.views)
    val isUnchanged = last.exists(_ eq look) && made.exists(m => (m.start eq start) && (m.end eq start)) &&
      look.advance.spans.forall(_.lag == 0L)
    last = Some(look)
    val before = ends.current
    ends.update(look)
    watch.looked(reached, look, ends.current)
    judgeUnanswered(look, waits = !availableNow)
    if (isUnchanged) start else next(start, reached, look, before, limit)
  }

  private def next(
      start: CompositeOffset,
      reached: CompositeOffset,
      look: TriggerSnapshot,
      before: SortedMap[String, Positions],
      limit: ReadLimit
  ): CompositeOffset = {
    val next = logged.next(start, deferred.resumed(start, look.advance.offset(granted(look, limit))))
    // Before anything is written: an offset that cannot be planned must not reach the checkpoint.
    val end = if (next.sameAs(start)) start else next
    val ranges = OffsetRange.beforeLogging(start, end)
    memory.remember(look.topology, logged.named)
    if (end ne start) {
      lost.add(reached, look.advance, before)
      OffsetChangeText.describe(start, end).foreach(text => log.info(text))
    }
    made = Some(Made(start, end, ranges))
    end
  }

  /** With `AvailableNow`, a topic that is missing for a moment is waited for, because the run would end without it. */
  @annotation.tailrec
  private def lookAt(start: CompositeOffset): TriggerSnapshot = {
    val look = step.look(start, entering, pinned, complete = availableNow)
    // The time by which the offset has been computed: it gives up the topics that are lost here.
    if (!losses.judge(look.advance.losses, look.transition.now, waitForTopics = true) || !availableNow)
      look
    else {
      Thread.sleep(DynamicMicroBatchStream.MissingTopicPauseMs)
      lookAt(start)
    }
  }

  /** With `AvailableNow`, no more records will arrive, so a batch does not wait for `minOffsetsPerTrigger`. */
  private def granted(look: TriggerSnapshot, limit: ReadLimit) =
    limits.grant(
      look.advance.spans,
      limit,
      clock.monotonicMs(),
      wait = !availableNow
    )

  override def reportLatestOffset(): Offset =
    last.map(look =>
      // Every progress has it; the ids are in the start and end offsets.
      look.advance.latest
    ).orNull

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val batch = (start.asInstanceOf[CompositeOffset], end.asInstanceOf[CompositeOffset])
    planned match {
      case Some((`batch`, partitions)) => partitions
      case _ =>
        val readable = made.filter(m => m.end == batch._2 && m.start == batch._1)
          .map(m => deferred.of(batch._1, batch._2).fold(m.ranges)(_.rest(m.ranges)))
          .getOrElse(replay.open(batch._1, batch._2, first = planned.isEmpty))
        val partitions =
          planner.partitions(readable, streams(_), memory.streamOf)
        watch.planned(batch._2, readable)
        memory.planned()
        planned = Some(batch -> partitions)
        partitions
    }
  }

  override def createReaderFactory(): PartitionReaderFactory = {
    val topologies = memory.topology.toSeq.flatMap(t => Seq(t.former, t.current))
    new ReaderFactory(ofClusters.map(
      _.of(topologies).copy(deadLetters =
        options.format.deadLetters.map(DeadLetterClusters(_, options, feed.current(), streams, configs))
      )
    ))
  }

  override def metrics(latestConsumedOffset: Optional[Offset]): ju.Map[String, String] = {
    // An exception would fail the query.
    val consumed = Try(latestConsumedOffset.map[CompositeOffset](offset => offsetOf(offset.json)))
    // Spark reports a batch when it is complete.
    val end = consumed.toOption.flatMap(found => Option(found.orElse(null)))
    end.foreach(finished)
    val at = end.getOrElse(CompositeOffset.empty)
    val reached = deferred.reached(at)
    SourceMetrics(
      reached,
      lags.of(reached, ends.current),
      last.fold(Set.empty[String])(_.topology.clusters.keySet.toSet),
      streams.unreachable,
      feed.ageMs,
      feed.failures,
      watch.commitCounts,
      deferred.records(at),
      lost.total,
      streams.times.ages,
      decoding.fold(0L)(_.counts.errors.sum),
      decoding.fold(0L)(_.counts.dropped.sum),
      decoding.fold(0L)(_.counts.deadLetters.sum)
    )
  }

  override def commit(end: Offset): Unit = {
    logged.committed(end.asInstanceOf[CompositeOffset])
    finished(end.asInstanceOf[CompositeOffset])
  }

  private def finished(end: CompositeOffset): Unit = watch.finished(end, deferred.reached(end))

  override def stop(): Unit =
    try feed.close()
    finally
      try watch.close()
      finally
        try streams.close()
        finally memory.forgetPlan()

  override def toString: String = s"DynamicKafka[${options.subscription}]"

  /** Called by other threads than that of the query, perhaps when a later batch runs. */
  override def datasets(end: Offset): Seq[TopicDataset] = {
    val offset = end match {
      case composite: CompositeOffset => composite
      case logged => CompositeOffsetJson.read(logged.json)
    }
    SourceDatasets(
      options.clusters,
      memory.knownTopology.toSeq.flatMap(t => Seq(t.current, t.former)),
      offset
    )
  }

  private def judgeUnanswered(look: TriggerSnapshot, waits: Boolean): Unit = {
    def streamOf(id: String, topic: String) =
      look.topology.clusters.get(id).flatMap(_.topics.get(topic)).fold(memory.streamOf(id, topic))(_.stream)
    unanswered.judge(look.views, streamOf, waits)
  }

  private def entering(
      id: String,
      name: String,
      topic: TopologyTopic,
      clusterIsKnown: Boolean
  ): OffsetsPolicy = {
    val isUnresolved = atStart.exists(_.isUnresolved(id, name))
    currentConfigs().entering(
      id,
      topic,
      clusterIsKnown && !isUnresolved,
      isUnresolved || atStart.exists(_.unresolved(id))
    )
  }

  /** Resolved once for each topology, because it is used for each topic. */
  private def currentConfigs(): ClusterConfigs = {
    val topology = feed.current()
    resolved.filter(_._1 eq topology).fold {
      val made = configs(topology.clusters.keySet.toSet)
      resolved = Some(topology -> made)
      made
    }(_._2)
  }
}

private[source] object DynamicMicroBatchStream {

  /** A batch that this run has computed, with its ranges by cluster. */
  private final case class Made(
      start: CompositeOffset,
      end: CompositeOffset,
      ranges: SortedMap[String, Seq[OffsetRange]]
  )

  /**
   * What determined the start offset of batch 0 in this run.
   *
   * @param topology before topics that match patterns were added
   */
  private final case class InitialLook(topology: Topology, offset: CompositeOffset, look: TriggerSnapshot) {

    /** Whether another look would only find records that were added since. */
    def isOf(now: Topology, start: CompositeOffset): Boolean =
      (topology eq now) && start.sameAs(offset) && look.advance.losses.isEmpty &&
        look.transition.clusters.valuesIterator.forall(_.ending.isEmpty) &&
        look.views.valuesIterator.forall {
          case view: ClusterView.Reachable => view.missing.isEmpty && view.unanswered.isEmpty
          case _ => false
        }
  }

  val MissingTopicGraceMs = 5000L
  private val MissingTopicPauseMs = 200L
}
