package io.github.dynamickafka.sink.commit

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.TransactionState.PREPARE_COMMIT
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{AuthorizationException, LeaderNotAvailableException}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Backoff, Clock}

/**
 * Ensures that a commit has reached all partitions. Kafka acknowledges it before it writes the markers, and a broker of
 * Kafka 4 completes a transaction without them in partitions that have no leader (KAFKA-20734, observed with 4.3.1). The
 * records of such a partition are neither visible nor aborted, and `read_committed` readers wait there forever.
 */
private[sink] final class Markers(clusters: Clusters, pool: TransactionPool, clock: Clock) {
  import Markers._

  /**
   * Returns when readers can see what these transactions have written, or the reason why they cannot.
   *
   * @param committed transactions that are committed
   * @param inSync the replicas in sync of their partitions, by cluster id, before they were committed
   * @param earlier whether an earlier run may have committed them, so that a partition without a leader was not noticed
   */
  def await(
      committed: Seq[Prepared],
      inSync: Map[String, Map[TopicPartition, Int]],
      earlier: Boolean,
      deadlineNanos: Long
  ): Option[Throwable] = {
    val byCluster = committed.groupBy(_.cluster)
    // If a partition has several replicas, another one of them leads it and gets the marker.
    val fragile = byCluster.keys.toSeq.sorted.map { id =>
      id -> inSync.getOrElse(id, Map.empty).filter(earlier || _._2 <= 1).keySet
    }.filter(_._2.nonEmpty).toMap
    clusters.each(fragile.keys.toSeq) { id =>
      val doubtful = if (earlier) fragile(id) else Set.empty[TopicPartition]
      await(id, byCluster(id), fragile(id), doubtful, deadlineNanos, failures = 1)
    }.flatten.headOption
  }

  @annotation.tailrec
  private def await(
      id: String,
      committed: Seq[Prepared],
      fragile: Set[TopicPartition],
      before: Set[TopicPartition],
      deadlineNanos: Long,
      failures: Int
  ): Option[Throwable] = {
    val (doubtful, problem) = describe(id, committed, fragile, before)
    val leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - clock.nanoTime())
    if (problem.isEmpty || leftMs <= 0) problem
    else {
      clock.pauseMs(math.max(1L, math.min(Pauses.pauseMs(failures), leftMs)))
      await(id, committed, fragile, doubtful, deadlineNanos, failures + 1)
    }
  }

  /** Returns the partitions that had no leader at any time, and the reason to look again. */
  private def describe(
      id: String,
      committed: Seq[Prepared],
      fragile: Set[TopicPartition],
      before: Set[TopicPartition]
  ): (Set[TopicPartition], Option[Throwable]) =
    try {
      val seen =
        clusters.ask(id)(_.describe(committed.map(_.transactionalId), committed.flatMap(_.topics).toSet))
      val doubtful = before ++ (seen.leaderless & fragile)
      val waiting = seen.known.values.filter(_.state == PREPARE_COMMIT)
      val problem =
        if (waiting.nonEmpty) Some(notWritten(waiting.head.topicPartitions))
        else if (doubtful.exists(seen.leaderless)) doubtful.find(seen.leaderless).map(noLeader)
        else if (doubtful.nonEmpty) repair(id, committed, doubtful)
        else None
      doubtful -> problem
    } catch { case NonFatal(e) => before -> Some(e) }

  /** Returns a reason to look again, if something was open. */
  private def repair(
      id: String,
      committed: Seq[Prepared],
      partitions: Set[TopicPartition]
  ): Option[Throwable] =
    try {
      val open = clusters.admin(id).openIn(partitions)
      committed.flatMap(t => hidden(t, open).map(t -> _)).map { case (t, where) =>
        log.warn(
          s"Kafka has committed a transaction without telling ${where.mkString(", ")}, which had no leader. Committing it " +
            s"there: ${Decision.at(t)}"
        )
        val settings = clusters.committing(id)
        val producer = pool.acquire(settings)
        try producer.complete(t.transactionalId, t.producerId, where)
        finally pool.discard(settings, producer)
        noLeader(where.head)
      }.headOption
    } catch {
      // Not the writer's right, and the leaders alone know.
      case e: AuthorizationException =>
        log.warn(
          s"It cannot be determined whether all records of a batch are visible on Kafka cluster '$id': the right to READ " +
            s"is missing: ${e.getMessage}"
        )
        None
    }

  private def hidden(t: Prepared, open: Map[TopicPartition, Set[Long]]): Option[Set[TopicPartition]] =
    Some(open.collect {
      case (partition, producers) if t.topics.contains(partition.topic) && producers(t.producerId) =>
        partition
    }.toSet).filter(_.nonEmpty)
}

private[sink] object Markers {
  // The markers are usually there after some milliseconds.
  private val Pauses = Backoff(firstMs = 5L, longestMs = 1000L)
  private val log = LoggerFactory.getLogger(classOf[Markers])

  def noLeader(partition: TopicPartition): LeaderNotAvailableException = new LeaderNotAvailableException(
    s"partition $partition has no leader: a commit would not become visible there"
  )

  private def notWritten(partitions: java.util.Set[TopicPartition]): LeaderNotAvailableException =
    new LeaderNotAvailableException(s"Kafka is still committing in the partitions $partitions")
}
