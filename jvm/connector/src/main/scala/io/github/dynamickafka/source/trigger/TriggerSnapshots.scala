package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, HandOver, Loss, Positions}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint

/**
 * The snapshots of the triggers of a query. With `Trigger.AvailableNow`, all triggers of a run have the clusters, topics and
 * latest offsets of its beginning. Used only by the thread of the query.
 */
private[source] final class TriggerSnapshots(state: QueryState, planner: TriggerPlanner) {
  import TriggerSnapshots._
  import state._

  private val log = LoggerFactory.getLogger(classOf[TriggerSnapshots])
  private val unanswered = UnansweredPartitions(options.clusters, clock)
  private lazy val initial = checkpoint.initial
  private var first: Option[TriggerSnapshot] = None
  private var newest: Option[TriggerSnapshot] = None
  private var pinned: Option[Map[String, ClusterView]] = None
  private var isPrepared = false
  private var filesOnlyUntil: Option[Long] = None

  private def started = TriggerContext.Started(initial, checkpoint.entries.current)

  /** Whether the query runs with `Trigger.AvailableNow`. */
  def isAvailableNow: Boolean = isPrepared

  def prepareForAvailableNow(): Unit = isPrepared = true

  /** The snapshot of the last trigger. */
  def last: Option[TriggerSnapshot] = newest

  /** The snapshot of the start offset of batch 0, once the metadata service has responded. */
  def forStart(handOver: HandOver): TriggerSnapshot = {
    val origin = TriggerContext.FirstStart(handOver)
    val snapshot = planner.next(CompositeOffset.empty, origin, complete = true)
    snapshot.trigger.configs.ofTopology.checkFirst(snapshot.topology, snapshot.views)
    judgeUnanswered(snapshot, waits = false)
    val _ = losses.judge(snapshot.next.losses, snapshot.trigger.now, waitForTopics = false)
    first = Some(snapshot)
    snapshot
  }

  /** @param reached the positions that the query has reached */
  def next(reached: CompositeOffset): TriggerSnapshot = {
    if (isAvailableNow && pinned.isEmpty) {
      val topology = feed.pin()
      // At a first start: what existed when the run began.
      pinned = first.filter(isUnchanged(_, topology, reached)).map(_.views)
    }
    val snapshot = withoutMissingTopics(reached)
    if (isAvailableNow) pinned = Some(snapshot.views)
    newest = Some(snapshot)
    snapshot
  }

  /**
   * What a trigger would find now, while a batch runs whose positions are ahead of these: records that are lost here may have been
   * read, but not topics and partitions that are gone. Changes nothing.
   *
   * @param reached the positions at the start of the batch
   */
  def preview(reached: CompositeOffset): TriggerSnapshot = {
    val snapshot = planner.next(reached, started)
    val gone = snapshot.next.losses.filter {
      case _: Loss.TopicGone | _: Loss.PartitionGone => true
      case _ => false
    }
    val _ = losses.judge(gone, snapshot.transition.now, waitForTopics = true, isDrained(snapshot, _))
    snapshot
  }

  /** The trigger of the query has found this, without a request. */
  def found(snapshot: TriggerSnapshot): Unit = newest = Some(snapshot)

  /**
   * What Kafka has while files are read, for metrics. Decides nothing: what is wrong with Kafka ends the query only when it reads
   * Kafka. None if it is not known, and for a while afterwards, because each attempt may wait for a cluster.
   */
  def whileFilesAreRead(reached: CompositeOffset): Option[TriggerSnapshot] =
    if (filesOnlyUntil.exists(clock.monotonicMs() < _)) None
    else
      try {
        newest = Some(planner.next(reached, started))
        newest
      } catch {
        case NonFatal(e) =>
          log.info("What Kafka has is not known while files of a history are read: {}", e.getMessage)
          filesOnlyUntil = Some(clock.monotonicMs() + FilesOnlyMs)
          None
      }

  /** With `AvailableNow`, a topic that is missing for a moment is waited for, because the run would end without it. */
  @annotation.tailrec
  private def withoutMissingTopics(reached: CompositeOffset): TriggerSnapshot = {
    val snapshot = planner.next(reached, started, isAvailableNow, pinned)
    // The time by which the offset has been computed: it gives up the topics that are lost here.
    val isMissing = losses.judge(
      snapshot.next.losses,
      snapshot.transition.now,
      waitForTopics = true,
      isDrained(snapshot, _)
    )
    if (!isMissing || !isAvailableNow) snapshot
    else {
      clock.pauseMs(MissingTopicPauseMs)
      withoutMissingTopics(reached)
    }
  }

  /** Whether a topic is gone that has left the metadata, and of which no unread record was known: its drain has ended. */
  private def isDrained(snapshot: TriggerSnapshot, loss: Loss): Boolean = loss match {
    case Loss.TopicGone(id, topic) =>
      !snapshot.topology.clusters.get(id).exists(_.topics.contains(topic)) &&
      latestOffsets.areRead(id, topic, snapshot.trigger.start.position(id).of(topic))
    case _ => false
  }

  /** @throws DynamicKafkaRuntimeException `PARTITION_UNAVAILABLE` */
  def judgeUnanswered(snapshot: TriggerSnapshot, waits: Boolean = !isAvailableNow): Unit = {
    def streamOf(id: String, topic: String) = snapshot.topology.clusters.get(id).flatMap(_.topics.get(topic))
      .fold(checkpoint.streamOf(id, topic))(_.stream)
    unanswered.judge(snapshot.views, streamOf, waits)
  }
}

private[source] object TriggerSnapshots {
  private val MissingTopicPauseMs = 200L
  private val FilesOnlyMs = 60000L

  /** Whether another trigger would find the same as that of the start offset, but for records that were added since. */
  private def isUnchanged(first: TriggerSnapshot, topology: Topology, reached: CompositeOffset): Boolean =
    (first.trigger.topology eq topology) && reached.sameAs(first.position) && first.next.losses.isEmpty &&
      first.transition.clusters.valuesIterator.forall(_.ending.isEmpty) &&
      first.views.valuesIterator.forall {
        case view: ClusterView.Reachable => view.missing.isEmpty && view.unanswered.isEmpty
        case _ => false
      }
}

/**
 * The newest latest offsets that each cluster of the topology has returned, in this run or in the one before. Those of a
 * cluster or partition that does not respond, and of a topic that is missing, are kept, so that its lag does not become 0.
 * Used only by the thread of the query.
 */
private[source] final class KnownLatestOffsets(checkpoint: SourceCheckpoint) {
  private var seen: Option[TriggerSnapshot] = None
  private lazy val before = checkpoint.takeLatestOffsets()
  private var known: Option[SortedMap[String, Positions]] = None

  /** The latest offsets, by cluster. The same object until a trigger has found another state. */
  def current: SortedMap[String, Positions] = known.getOrElse(before)

  /** @return those that were known before */
  def update(snapshot: TriggerSnapshot): SortedMap[String, Positions] = {
    val before = current
    if (!seen.exists(_ eq snapshot)) {
      seen = Some(snapshot)
      known = Some(KnownLatestOffsets.after(before, snapshot.views))
    }
    before
  }

  /** Whether all records of a topic that were known had been read at these positions. */
  def areRead(cluster: String, topic: String, positions: SortedMap[Int, Long]): Boolean = {
    val latest = current.getOrElse(cluster, Positions.empty)
    positions.forall { case (p, at) => latest.get(topic, p).exists(_ <= at) }
  }

  /** Leaves what this run has found to the next one. */
  def close(): Unit = known.foreach(checkpoint.leaveLatestOffsets)
}

private[source] object KnownLatestOffsets {

  /** @param views what the clusters of the topology have returned now; others are forgotten */
  def after(
      known: SortedMap[String, Positions],
      views: Map[String, ClusterView]
  ): SortedMap[String, Positions] =
    SortedMap.from(views.flatMap {
      case (id, view: ClusterView.Reachable) =>
        val kept = known.getOrElse(id, Positions.empty)
          .filter((t, p) => view.missing(t) || view.unanswered.contains((t, p)))
        Some(id -> (kept ++ view.ends))
      case (id, ClusterView.Unreachable | ClusterView.Pending) => known.get(id).map(id -> _)
    })
}
