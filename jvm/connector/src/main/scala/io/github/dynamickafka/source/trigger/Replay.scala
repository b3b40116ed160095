package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{ReplacedClusterPolicy, UnreachableReplayPolicy}
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  CompositeOffset,
  Deferral,
  Deferrals,
  Loss,
  OffsetRange
}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint

/**
 * Reads a batch again that an earlier run logged but did not complete, including clusters that are no longer in the
 * metadata, and while the metadata service is unavailable.
 */
private[source] final class Replay(state: QueryState) {
  import Replay._
  import state._

  private val log = LoggerFactory.getLogger(classOf[Replay])

  /**
   * Opens the clusters of a logged batch, and returns the ranges that can be read.
   *
   * @param end the logged offset, which has the ids of the topics that the ranges are about
   * @param isFirst whether this run has not started a task yet
   */
  def open(
      start: CompositeOffset,
      end: CompositeOffset,
      isFirst: Boolean
  ): SortedMap[String, Seq[OffsetRange]] = {
    val whole = OffsetRange.between(start, end)
    val ranges = deferred.of(start, end).fold(whole)(_.rest(whole))
    val topology = feed.current()
    val known = topology.clusters.keySet.toSet ++ ranges.keySet
    streams.add(ranges.map { case (id, _) =>
      val properties =
        topology.clusters.get(id).orElse(checkpoint.cluster(id)).fold(Map.empty[String, String])(_.properties)
      id -> configs(known)(id, properties)
    })
    // Checked here, because a reader would wait minutes for an unreachable cluster, and its error names no remedy.
    val found = streams.identities(ranges.map { case (id, ofCluster) => id -> ofCluster.map(_.topic).toSet })
    val elsewhere = ranges.filter { case (id, _) => isReplaced(end.identity(id), found(id)) }
    if (elsewhere.nonEmpty) continueElsewhere(start, end, elsewhere, found, isFirst)
    val readable = (ranges -- elsewhere.keySet).collect {
      case (id, ofCluster) if found(id).isRight =>
        id -> found(id).fold(_ => Nil, same(id, ofCluster, end.identity(id), _))
    }.filter(_._2.nonEmpty)
    // Last, because nothing is deferred if the rest of the batch cannot be read.
    val missing = ranges.flatMap { case (id, ofCluster) =>
      found(id).left.toOption.map(error => id -> Missing(ofCluster, error))
    }
    if (missing.nonEmpty) leaveOut(start, end, missing, topology.clusters.contains, isFirst)
    readable
  }

  /** Whether the positions continue in another Kafka cluster, where the records of the batch have other offsets. */
  private def isReplaced(logged: ClusterIdentity, found: Either[Throwable, ClusterIdentity]): Boolean =
    found.exists(now => ClusterIdentity.differ(logged.kafkaId, now.kafkaId)) &&
      options.changes.replaced.continues

  /** The records of the batch are read from the new cluster, where the next trigger finds the positions at which it began. */
  private def continueElsewhere(
      start: CompositeOffset,
      end: CompositeOffset,
      ranges: SortedMap[String, Seq[OffsetRange]],
      found: Map[String, Either[Throwable, ClusterIdentity]],
      isFirst: Boolean
  ): Unit = {
    val reason =
      if (!isFirst) Some("tasks of this run may have read it")
      else deferred.defer(start, end, ranges, "Replaced clusters")
    reason.foreach { why =>
      val id = ranges.firstKey
      throw Errors.clusterReplaced(
        id,
        end.identity(id).kafkaId.getOrElse(""),
        found(id).toOption.flatMap(_.kafkaId).getOrElse(""),
        s"a batch that was logged has records of the former one, which cannot be deferred: $why"
      )
    }
  }

  private def leaveOut(
      start: CompositeOffset,
      end: CompositeOffset,
      missing: SortedMap[String, Missing],
      isCurrent: String => Boolean,
      isFirst: Boolean
  ): Unit = options.clusters.unreachable.replay match {
    case UnreachableReplayPolicy.Defer =>
      val reason =
        if (!isFirst) Some("tasks of this run may have read it")
        else deferred.defer(start, end, missing.map { case (id, outage) => id -> outage.ranges })
      reason.foreach { why =>
        val (id, outage) = missing.head
        throw unreachable(
          id,
          outage,
          s"${streams(id).explain(outage.error)}. The records cannot be deferred: $why"
        )
      }
    case policy =>
      missing.foreach { case (id, outage) =>
        if (isCurrent(id)) throw streams(id).failure(outage.error)
        if (policy == UnreachableReplayPolicy.Fail)
          throw unreachable(id, outage, streams(id).explain(outage.error))
        lost.add(outage.ranges)
        log.warn(
          "Kafka cluster '{}' is unreachable and 'unreachableReplayPolicy' is 'skip': these records are lost: {}",
          id,
          show(outage.ranges)
        )
      }
  }

  private def unreachable(id: String, of: Missing, reason: String) =
    Errors.unreachableReplay(id, show(of.ranges), reason, streams(id).safe(of.error))

  /** The ranges of topics that are still those that were logged: other topics have other records at the same offsets. */
  private def same(
      id: String,
      ranges: Seq[OffsetRange],
      logged: ClusterIdentity,
      found: ClusterIdentity
  ): Seq[OffsetRange] =
    if (ClusterIdentity.differ(logged.kafkaId, found.kafkaId)) {
      val (known, now) = (logged.kafkaId.getOrElse(""), found.kafkaId.getOrElse(""))
      if (options.changes.replaced == ReplacedClusterPolicy.Fail)
        throw Errors.clusterReplaced(id, known, now, ReplacedClusters.Unknown)
      giveUp(id, s"cluster.id $now instead of $known", ranges)
      Nil
    } else {
      val (recreated, rest) = ranges.partition(r =>
        ClusterIdentity.differ(logged.topics.get(r.topic), found.topics.get(r.topic))
      )
      recreated.groupBy(_.topic).toSeq.sortBy(_._1).foreach { case (topic, ranges) =>
        val (oldId, newId) = (logged.topics(topic), found.topics(topic))
        if (options.clusters.failOnDataLoss) {
          val known = SortedMap.from(ranges.map(r => r.partition -> r.from))
          throw Loss.TopicRecreated(
            id,
            topic,
            oldId,
            newId,
            known,
            streams.ends(id, Set(topic)).of(topic)
          ).error
        }
        giveUp(id, s"topic id $newId of '$topic' instead of $oldId", ranges)
      }
      rest
    }

  private def giveUp(id: String, what: String, ranges: Seq[OffsetRange]): Unit = {
    lost.add(ranges)
    log.warn(
      "Kafka cluster '{}' has changed ({}), so records of the batch that was logged are lost: {}",
      id,
      what,
      show(ranges)
    )
  }

  private def show(ranges: Seq[OffsetRange]): String = ranges.mkString(", ")
}

private[source] object Replay {

  /** Ranges of a cluster that does not respond. */
  private final case class Missing(ranges: Seq[OffsetRange], error: Throwable)
}

/**
 * Ranges of logged batches that are read in later batches: `unreachableReplayPolicy=defer`. What is deferred of a batch is
 * decided once and applies with any policy: a batch that is read once more is the same.
 *
 * Used only by the thread of the query.
 *
 * @param withState whether batches of queries with stateful operators are deferred, too
 */
private[source] final class DeferredRanges(checkpoint: SourceCheckpoint, withState: Boolean) {
  import DeferredRanges._

  private var read: Option[Deferrals] = None

  /** What is deferred of this batch. */
  def of(start: CompositeOffset, end: CompositeOffset): Option[Deferral] = all.of(start, end)

  /** The positions that the query has reached at this offset. Like [[records]], reads nothing and cannot fail. */
  def reached(offset: CompositeOffset): CompositeOffset = read.fold(offset)(_.reached(offset))

  /** The number of deferred records that have not been read, if this is the offset of the last completed batch. */
  def records(offset: CompositeOffset): Long =
    read.fold(0L)(_.left(offset).valuesIterator.flatten.map(_.size).sum)

  /**
   * Defers these ranges of a logged batch. Returns when this is durable.
   *
   * @param clusters why, for the log
   * @return why they cannot be deferred, if they cannot
   */
  def defer(
      start: CompositeOffset,
      end: CompositeOffset,
      ranges: SortedMap[String, Seq[OffsetRange]],
      clusters: String = "Unreachable clusters"
  ): Option[String] = {
    val batch = deferrable(start, end)
    batch.foreach { number =>
      val deferral = Deferral(start, end, ranges)
      // Left from another batch that had this number, before an earlier state of the checkpoint was restored.
      if (all.all.get(number).exists(_.entered)) checkpoint.deferrals.delete(number)
      checkpoint.deferrals.write(number, deferral)
      read = Some(all.added(number, deferral))
      log.warn(
        s"$clusters: these ${ranges.valuesIterator.flatten.map(_.size).sum} records of batch $number, which was " +
          s"logged, are deferred to a later batch: ${show(ranges)}"
      )
    }
    batch.left.toOption
  }

  /** @param start the start offset of the next batch, which is read */
  def committed(start: CompositeOffset): Unit = if (all.all.nonEmpty) {
    // With asynchronous progress tracking a later offset may not be logged yet: until it is, the deferral is all that remains.
    val entering = all.entering(start).filter(batch => checkpoint.ofQuery.lastLogged.forall(_ > batch))
    // Durable before the next offset is computed, which can have the text of the end of the deferred batch.
    entering.foreach(checkpoint.deferrals.markEntered)
    read = Some(all.entered(entering))
    val over = all.over(start)
    if (over.nonEmpty) {
      logOver(start, Deferrals(all.all.filter { case (batch, _) => over.contains(batch) }))
      over.foreach(checkpoint.deferrals.delete)
      read = Some(all.without(over))
    }
  }

  /** The offset to log after `start`, for one that was computed from `reached(start)`. */
  def resumed(start: CompositeOffset, next: CompositeOffset): CompositeOffset = {
    all.at(start).foreach(deferral =>
      log.info(
        "Deferred records enter again, and are read as soon as their clusters are reachable: {}",
        show(deferral.ranges)
      )
    )
    all.resumed(start, next)
  }

  private def logOver(start: CompositeOffset, over: Deferrals): Unit = {
    val lost = over.givenUp(start)
    if (lost.nonEmpty)
      log.warn(
        "The offsets of clusters or topics that were removed are no longer retained, so these deferred records are lost " +
          "as far as they have not been read: {}",
        show(lost)
      )
    else log.info("All records that were deferred have been read")
  }

  /** The number of this batch, or why it cannot be deferred. */
  private def deferrable(start: CompositeOffset, end: CompositeOffset): Either[String, Long] =
    checkpoint.ofQuery.lastLogged match {
      case _ if all.of(start, end).isDefined =>
        Left("another part of the batch is deferred already, and this is decided once")
      case None => Left("the checkpoint of the query is not found")
      case Some(_) if checkpoint.ofQuery.hasState && !withState =>
        Left(
          "the query has stateful operators, which can drop records that are late, and 'deferWithState' is not set"
        )
      case Some(batch) if checkpoint.ofQuery.isDecided(batch) =>
        Left("the sink of the query has decided to commit the batch with these records")
      case Some(batch) => Right(batch)
    }

  private def all: Deferrals = read.getOrElse {
    val found = checkpoint.deferrals.read()
    read = Some(found)
    found
  }
}

private[source] object DeferredRanges {
  private val log = LoggerFactory.getLogger(classOf[DeferredRanges])

  def show(ranges: SortedMap[String, Seq[OffsetRange]]): String =
    ranges.map { case (id, ofCluster) => s"cluster '$id': ${ofCluster.mkString(", ")}" }.mkString("; ")
}
