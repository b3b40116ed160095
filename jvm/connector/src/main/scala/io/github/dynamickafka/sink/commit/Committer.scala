package io.github.dynamickafka.sink.commit

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.TransactionState.PREPARE_COMMIT
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{AuthorizationException, LeaderNotAvailableException}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Backoff, Clock, Redaction}
import io.github.dynamickafka.kafka.ClusterFailure
import io.github.dynamickafka.sink.commit.ResumableProducer.Handle

/**
 * Commits or aborts transactions that tasks have prepared, on all clusters at once, with a few reused producers per
 * cluster. Repeating it has no effect.
 */
private[sink] final class Committer(clusters: Clusters, pool: TransactionPool, clock: Clock) {
  import Committer._

  /** Queried after a failure. */
  val inspector = new Inspector(clusters, clock)

  /**
   * Returns the outcomes in the order of the transactions. After an interrupt, pending commits continue in the
   * background.
   *
   * @param ids Kafka's id of a cluster at the decision
   */
  def commit(
      transactions: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long
  ): Seq[(Prepared, Outcome)] = end(transactions, ids, deadlineNanos, Outcome.Committed)(_.commit(_, _))

  /** Aborts exactly these transactions: what was committed meanwhile is [[Outcome.Committed]]. */
  def abort(
      transactions: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long
  ): Seq[(Prepared, Outcome)] = end(transactions, ids, deadlineNanos, Aborted)(_.abort(_, _))

  private def end(
      transactions: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long,
      done: Outcome
  )(run: (ResumableProducer, String, Handle) => Unit): Seq[(Prepared, Outcome)] = {
    val outcomes =
      clusters.each(Lots.of(transactions))(endLot(_, ids, deadlineNanos, done, run)).flatten.toMap
    transactions.map(t => t -> outcomes(t))
  }

  private def endLot(
      lot: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long,
      done: Outcome,
      run: (ResumableProducer, String, Handle) => Unit
  ): Seq[(Prepared, Outcome)] = {
    val settings = clusters.committing(lot.head.cluster)
    var producer: Option[ResumableProducer] = None
    @annotation.tailrec
    def attempt(transaction: Prepared, failures: Int): Unit = {
      // After a failure another producer, which waits longer.
      val settings = clusters.committing(lot.head.cluster, failures)
      val used = producer.getOrElse(pool.acquire(settings))
      producer = None
      // A producer is not reused after an error.
      val failure =
        try {
          run(used, transaction.transactionalId, Handle(transaction.producerId, transaction.epoch))
          None
        } catch { case NonFatal(e) => Some(e) }
      failure match {
        case Some(e) =>
          if (pool.discard(settings, used, e)) attempt(transaction, failures) else throw e
        case None => if (failures == 0) producer = Some(used) else pool.release(settings, used)
      }
    }
    def judge(transaction: Prepared, e: Throwable): Outcome = {
      val failure =
        if (ClusterFailure.isRefused(e)) ClusterFailure(transaction.cluster, settings.properties, e)
        else Redaction.scrub(e, settings.properties)
      inspector.once(Seq(transaction), ids).outcomes.head._2 match {
        case Outcome.Open => Outcome.Pending(failure)
        case Outcome.Pending(cause) =>
          failure.addSuppressed(Redaction.scrub(cause, settings.properties))
          Outcome.Pending(failure)
        case known => known
      }
    }
    @annotation.tailrec
    def ended(transaction: Prepared, failures: Int): Outcome = {
      val outcome =
        try {
          attempt(transaction, failures)
          done
        } catch { case NonFatal(e) => judge(transaction, e) }
      outcome match {
        case known: Outcome.Pending
            if !ClusterFailure.isRefused(known.cause) && clock.nanoTime() < deadlineNanos &&
              !Thread.interrupted() =>
          Committer.pause(clock, failures + 1, deadlineNanos)
          log.info(
            s"Transaction '${transaction.transactionalId}' is not ended yet, retrying: ${known.cause}"
          )
          ended(transaction, failures + 1)
        case known => known
      }
    }
    var failed: Option[Outcome.Pending] = None
    try
      lot.map { transaction =>
        // Otherwise each transaction of an unreachable cluster would wait as long as the first one, and each one of a
        // cluster that refuses the credentials would be another log-in.
        val outcome = failed
          .filter(known => clock.nanoTime() >= deadlineNanos || ClusterFailure.isRefused(known.cause))
          .getOrElse(ended(transaction, failures = 0))
        failed = Some(outcome).collect { case pending: Outcome.Pending => pending }
        transaction -> outcome
      }
    finally producer.foreach(pool.release(settings, _))
  }
}

private[sink] object Committer {
  private val Aborted = Outcome.Lost("this query has aborted it, because another part was lost")
  private val log = LoggerFactory.getLogger(classOf[Committer])

  private val Pauses = Backoff(firstMs = 100L, longestMs = 5000L)

  /** Between two attempts. Usually the client has waited already; if not, this prevents a busy loop. */
  def pause(clock: Clock, failures: Int, deadlineNanos: Long): Unit = {
    val leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - clock.nanoTime())
    clock.pauseMs(math.max(1L, math.min(Pauses.pauseMs(failures), leftMs)))
  }
}

/**
 * The transactions that one producer ends, one after the other. A transaction takes two round trips, and many transactions on a distant
 * cluster need many producers: 2,000 of them take 50 s with four producers and 50 ms to the cluster, and 12.5 s with sixteen.
 * Pure.
 */
private[commit] object Lots {

  /** Most producers that work at the same time, each with a thread and its connections. */
  val MostOfAll = 128
  val MostOfCluster = 16

  /** Measured: 200 commits take 0.4 s with one producer and 0.2 s with four to eight. */
  private val UsualOfCluster = 4
  private val UsualSize = 64
  private val SmallestSize = 5

  def of(transactions: Seq[Prepared]): Seq[Seq[Prepared]] = {
    val byCluster = transactions.groupBy(_.cluster)
    val most = math.min(MostOfCluster, math.max(1, MostOfAll / math.max(1, byCluster.size)))
    byCluster.values.toSeq.flatMap { ofCluster =>
      val producers = math.min(most, math.max(UsualOfCluster, divided(ofCluster.size, UsualSize)))
      ofCluster.grouped(math.max(SmallestSize, divided(ofCluster.size, producers)))
    }
  }

  private def divided(n: Int, by: Int): Int = (n + by - 1) / by
}

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
