package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{ReplacedClusterPolicy, UnreachableReplayPolicy}
import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, Loss, OffsetRange}
import io.github.dynamickafka.source.replacement.ReplacedClusters

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
      !GivingUp(options.replacedClusters)

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
  ): Unit = options.clusters.unreachableReplay match {
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
      if (options.replacedClusters == ReplacedClusterPolicy.Fail)
        throw Errors.clusterReplaced(id, known, now, ReplacedClusters.Unknown)
      giveUp(id, s"cluster.id $now instead of $known", ranges)
      Nil
    } else {
      val (recreated, rest) = ranges.partition(r =>
        ClusterIdentity.differ(logged.topics.get(r.topic), found.topics.get(r.topic))
      )
      recreated.groupBy(_.topic).toSeq.sortBy(_._1).foreach { case (topic, ranges) =>
        val (oldId, newId) = (logged.topics(topic), found.topics(topic))
        if (options.failOnDataLoss) {
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

  /** With these, records of the former cluster are not looked for in the new one. */
  private val GivingUp =
    Set[ReplacedClusterPolicy](
      ReplacedClusterPolicy.Fail,
      ReplacedClusterPolicy.Earliest,
      ReplacedClusterPolicy.Latest
    )

  /** Ranges of a cluster that does not respond. */
  private final case class Missing(ranges: Seq[OffsetRange], error: Throwable)
}
