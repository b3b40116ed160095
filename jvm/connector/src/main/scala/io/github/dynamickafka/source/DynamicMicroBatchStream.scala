package io.github.dynamickafka.source

import java.util.Optional
import java.util.concurrent.TimeUnit
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
import io.github.dynamickafka.metadata.TopologyTopic
import io.github.dynamickafka.offset.{
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  OffsetRange,
  OffsetsPolicy,
  Positions
}

/**
 * The micro-batch stream over all clusters of a subscription, which may be added and removed while the query runs.
 *
 * Its offsets are [[CompositeOffset]]s, which alone determine what a batch reads. Spark calls all methods from the
 * thread of the query. After the first answer of the metadata service, no method waits for the service.
 */
private[source] final class DynamicMicroBatchStream(
    options: SourceOptions,
    configs: ClusterConfigs,
    feed: TopologyFeed,
    streams: ClusterStreams,
    memory: CheckpointMemory,
    planner: BatchPlanner,
    watch: QueryWatch
) extends SupportsTriggerAvailableNow
    with ReportsSourceMetrics
    with MicroBatchStream {

  private val log = LoggerFactory.getLogger(classOf[DynamicMicroBatchStream])
  private val step = new TriggerStep(options, configs, streams, feed, memory)
  private val replay = new Replay(options, configs, feed, streams, memory)
  private val losses = new LossPolicy(options.failOnDataLoss, DynamicMicroBatchStream.MissingTopicGraceMs)
  private val limits = new Limits(id => configs.maxOffsetsPerTrigger(id, knownClusters()))

  private lazy val unresolvedAtStart = memory.initial.fold(Set.empty[String])(_.unresolved)
  private var availableNow = false
  private var pinned: Option[Map[String, ClusterView]] = None
  private var last: Option[Look] = None
  private var made: Option[CompositeOffset] = None
  private var planned: Option[((CompositeOffset, CompositeOffset), Array[InputPartition])] = None

  override def deserializeOffset(json: String): Offset = CompositeOffsetJson.read(json)

  /** The start offset of batch 0: resolved once, and durable before it is returned to Spark. */
  override def initialOffset(): Offset = {
    memory.refusePlainKafka()
    val offset = memory.initial.getOrElse(resolveInitial()).offset
    watch.begins(offset)
    offset
  }

  private def resolveInitial(): InitialOffset = {
    val _ = feed.first()
    configs.checkEnding(knownClusters())
    val look =
      step.look(CompositeOffset.empty, (id, topic, _) => configs.starting(id, knownClusters(), topic), None)
    if (options.failOnDataLoss) {
      look.advance.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, look.topology.clusters(id).topics(topic).stream)
      }
    }
    losses.judge(look.advance.losses, System.currentTimeMillis(), waitForTopics = false)
    val offset = look.advance.offset(look.advance.spans.map(_ => 0L)).copy(entered = SortedMap.empty)
    val unresolved = look.views.collect { case (id, ClusterView.Unreachable) => id }.toSet
    val initial = InitialOffset(offset, unresolved)
    memory.remember(look.topology, offset)
    memory.writeInitial(initial)
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
    if (availableNow && pinned.isEmpty) feed.pin()
    val look = step.look(start, entering, pinned)
    if (availableNow) pinned = Some(look.views)
    last = Some(look)
    watch.looked(start, look)
    losses.judge(look.advance.losses, System.currentTimeMillis(), waitForTopics = !availableNow)
    val next = look.advance.offset(granted(look, limit))
    memory.remember(look.topology, next)
    val end = if (next.sameAs(start)) start else next
    if (end ne start) Transitions.describe(start, end).foreach(text => log.info(text))
    made = Some(end)
    end
  }

  /** With `AvailableNow`, no more records will arrive, so a batch does not wait for `minOffsetsPerTrigger`. */
  private def granted(look: Look, limit: ReadLimit) =
    limits.grant(
      look.advance.spans,
      limit,
      TimeUnit.NANOSECONDS.toMillis(System.nanoTime()),
      wait = !availableNow
    )

  override def reportLatestOffset(): Offset =
    last.map(look =>
      look.advance.offset(look.advance.spans.map(_.lag)).copy(entered = SortedMap.empty)
    ).orNull

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val batch = (start.asInstanceOf[CompositeOffset], end.asInstanceOf[CompositeOffset])
    planned match {
      case Some((`batch`, partitions)) => partitions
      case _ =>
        val ranges = OffsetRange.between(batch._1, batch._2)
        val readable = if (made.contains(batch._2)) ranges else replay.open(ranges)
        val partitions =
          planner.partitions(readable, batch._2.clusters.keys.toSeq, streams(_), memory.streamOf)
        watch.planned(batch._2, readable)
        planned = Some(batch -> partitions)
        partitions
    }
  }

  override def createReaderFactory(): PartitionReaderFactory = ReaderFactory

  override def metrics(latestConsumedOffset: Optional[Offset]): ju.Map[String, String] = {
    // An exception would fail the query.
    val consumed =
      Try(latestConsumedOffset.map[CompositeOffset](offset => CompositeOffsetJson.read(offset.json)))
    // Spark reports a batch when it is complete.
    consumed.toOption.flatMap(found => Option(found.orElse(null))).foreach(watch.finished)
    SourceMetrics(
      consumed.toOption.fold(CompositeOffset.empty)(_.orElse(CompositeOffset.empty)),
      last.fold(SortedMap.empty[String, Positions])(look => TriggerStep.ends(look.views)),
      last.fold(Set.empty[String])(_.topology.clusters.keySet.toSet),
      streams.unreachable,
      feed.ageMs,
      feed.failures,
      watch.commitCounts
    )
  }

  override def commit(end: Offset): Unit = watch.finished(end.asInstanceOf[CompositeOffset])

  override def stop(): Unit =
    try feed.close()
    finally
      try watch.close()
      finally streams.close()

  override def toString: String = s"DynamicKafka[${options.subscription}]"

  private def entering(id: String, topic: TopologyTopic, clusterIsKnown: Boolean): OffsetsPolicy =
    configs.entering(id, knownClusters(), topic, clusterIsKnown, unresolvedAtStart(id))

  private def knownClusters(): Set[String] = feed.current().clusters.keySet.toSet
}

private[source] object DynamicMicroBatchStream {
  val MissingTopicGraceMs = 5000L
}
