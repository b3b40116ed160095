package io.github.dynamickafka.sink.commit

import java.util.concurrent.TimeUnit
import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.TransactionState.PREPARE_COMMIT
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{AuthorizationException, LeaderNotAvailableException, TimeoutException}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Backoff, Clock, Redaction}
import io.github.dynamickafka.kafka.ClusterFailure
import io.github.dynamickafka.sink.commit.ResumableProducer.Handle

/**
 * Commits or aborts transactions that tasks have prepared, on all clusters at once, with a few reused producers per
 * cluster, and ensures that readers see what is committed. Repeating it has no effect.
 */
private[sink] final class Committer(clusters: Clusters, pool: TransactionPool, clock: Clock) {
  import Committer._

  /**
   * Returns the outcomes in the order of the transactions. After an interrupt, pending commits continue in the
   * background.
   *
   * @param ids Kafka's id of a cluster at the decision
   */
  def commit(
      transactions: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long = clusters.deadline(clock)
  ): Seq[(Prepared, Outcome)] = end(transactions, ids, deadlineNanos, Outcome.Committed)(_.commit(_, _))

  /** Aborts exactly these transactions: what was committed meanwhile is [[Outcome.Committed]]. */
  def abort(
      transactions: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long = clusters.deadline(clock)
  ): Seq[(Prepared, Outcome)] = end(transactions, ids, deadlineNanos, Aborted)(_.abort(_, _))

  private def end(
      transactions: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long,
      done: Outcome
  )(run: (ResumableProducer, String, Handle) => Unit): Seq[(Prepared, Outcome)] = {
    def attempt(t: Prepared, failures: Int): Outcome =
      try {
        // After a failure another producer, which waits longer.
        pool.use(clusters.committing(t.cluster, failures))(
          run(_, t.transactionalId, Handle(t.producerId, t.epoch))
        )
        done
      } catch { case NonFatal(e) => judge(t, ids, e) }
    @annotation.tailrec
    def ended(t: Prepared, failures: Int): Outcome = attempt(t, failures) match {
      case known: Outcome.Pending
          if !ClusterFailure.isRefused(known.cause) && clock.nanoTime() < deadlineNanos &&
            !Thread.interrupted() =>
        pause(failures + 1, deadlineNanos)
        log.info(s"Transaction '${t.transactionalId}' is not ended yet, retrying: ${known.cause}")
        ended(t, failures + 1)
      case known => known
    }
    def endLot(lot: Seq[Prepared]): Seq[(Prepared, Outcome)] = {
      var failed: Option[Outcome.Pending] = None
      lot.map { transaction =>
        // Otherwise each transaction of an unreachable cluster would wait as long as the first one, and each one of a
        // cluster that refuses the credentials would be another log-in.
        val outcome = failed
          .filter(known => clock.nanoTime() >= deadlineNanos || ClusterFailure.isRefused(known.cause))
          .getOrElse(ended(transaction, failures = 0))
        failed = Some(outcome).collect { case pending: Outcome.Pending => pending }
        transaction -> outcome
      }
    }
    val outcomes = clusters.each(Lots.of(transactions))(endLot).flatten.toMap
    transactions.map(t => t -> outcomes(t))
  }

  /** Between two attempts. Usually the client has waited already; if not, this prevents a busy loop. */
  private def pause(failures: Int, deadlineNanos: Long, pauses: Backoff = Pauses): Unit = {
    val leftMs = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - clock.nanoTime())
    clock.pauseMs(math.max(1L, math.min(pauses.pauseMs(failures), leftMs)))
  }

  /** What has become of a transaction that could not be ended. */
  private def judge(transaction: Prepared, ids: String => Option[String], e: Throwable): Outcome = {
    val properties = clusters.committing(transaction.cluster).properties
    val failure =
      if (ClusterFailure.isRefused(e)) ClusterFailure(transaction.cluster, properties, e)
      else Redaction.scrub(e, properties)
    inspect(Seq(transaction), ids).outcomes.head._2 match {
      case Outcome.Open => Outcome.Pending(failure)
      case Outcome.Pending(cause) =>
        failure.addSuppressed(Redaction.scrub(cause, properties))
        Outcome.Pending(failure)
      case known => known
    }
  }

  /**
   * Queries what has become of transactions: one request per cluster, to all clusters at once.
   *
   * @param ids Kafka's id of a cluster at the decision
   */
  def inspect(transactions: Seq[Prepared], ids: String => Option[String]): Inspection = {
    val byCluster = transactions.groupBy(_.cluster)
    val answers = clusters.each(byCluster.keys.toSeq.sorted)(id => id -> seen(id, byCluster(id))).toMap
    Inspection(
      transactions.map(t => t -> answers(t.cluster).fold(Outcome.Pending(_), Verdict(t, ids(t.cluster), _))),
      answers.collect { case (id, Right(answer)) => id -> answer }
    )
  }

  /**
   * The same, repeated until all clusters have answered, or the time limit, or something is committed, or all others refuse
   * the credentials.
   */
  @annotation.tailrec
  def awaitStates(
      transactions: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long = clusters.deadline(clock),
      failures: Int = 1
  ): Inspection = {
    val report = inspect(transactions, ids)
    val isCommitted = report.outcomes.exists(_._2 == Outcome.Committed)
    val pending = report.outcomes.collect { case (_, Outcome.Pending(cause)) => cause }
    if (isCommitted || pending.forall(ClusterFailure.isRefused) || clock.nanoTime() >= deadlineNanos) report
    else {
      pause(failures, deadlineNanos)
      awaitStates(transactions, ids, deadlineNanos, failures + 1)
    }
  }

  private def seen(id: String, transactions: Seq[Prepared]): Either[Throwable, Seen] =
    try {
      val seen =
        clusters.ask(id)(_.describe(
          transactions.map(_.transactionalId),
          transactions.flatMap(_.topics).toSet
        ))
      clusters.responded(id)
      Right(seen)
    } catch {
      case NonFatal(e) if ClusterFailure.isRefused(e) =>
        Left(ClusterFailure(id, clusters.properties(id).client, e))
      case e @ (_: TimeoutException | _: ju.concurrent.TimeoutException) =>
        clusters.tooSlow(id)
        Left(e)
      case NonFatal(e) => Left(e)
    }

  /**
   * Returns when readers can see what these transactions have written, or the reason why they cannot. Kafka acknowledges a commit before
   * it writes the markers, and a broker of Kafka 4 completes a transaction without them in partitions that have no leader (KAFKA-20734,
   * observed with 4.3.1). The records of such a partition are neither visible nor aborted, and `read_committed` readers wait there
   * forever.
   *
   * @param committed transactions that are committed
   * @param inSync the replicas in sync of their partitions, by cluster id, before they were committed
   * @param earlier whether an earlier run may have committed them, so that a partition without a leader was not noticed
   */
  def awaitVisible(
      committed: Seq[Prepared],
      inSync: Map[String, Map[TopicPartition, Int]],
      earlier: Boolean,
      deadlineNanos: Long = clusters.deadline(clock)
  ): Option[Throwable] = {
    val byCluster = committed.groupBy(_.cluster)
    // If a partition has several replicas, another one of them leads it and gets the marker.
    val fragile = byCluster.keys.toSeq.sorted.map { id =>
      id -> inSync.getOrElse(id, Map.empty).filter(earlier || _._2 <= 1).keySet
    }.filter(_._2.nonEmpty).toMap
    clusters.each(fragile.keys.toSeq) { id =>
      val doubtful = if (earlier) fragile(id) else Set.empty[TopicPartition]
      awaitVisible(id, byCluster(id), fragile(id), doubtful, deadlineNanos, failures = 1)
    }.flatten.headOption
  }

  @annotation.tailrec
  private def awaitVisible(
      id: String,
      committed: Seq[Prepared],
      fragile: Set[TopicPartition],
      before: Set[TopicPartition],
      deadlineNanos: Long,
      failures: Int
  ): Option[Throwable] = {
    val (doubtful, problem) = describe(id, committed, fragile, before)
    if (problem.isEmpty || clock.nanoTime() >= deadlineNanos) problem
    else {
      pause(failures, deadlineNanos, PausesForMarkers)
      awaitVisible(id, committed, fragile, doubtful, deadlineNanos, failures + 1)
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
            s"there: ${t.shown}"
        )
        pool.use(clusters.committing(id))(_.complete(t.transactionalId, t.producerId, where))
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

private[sink] object Committer {
  private val Aborted = Outcome.Lost("this query has aborted it, because another part was lost")
  private val log = LoggerFactory.getLogger(classOf[Committer])

  private val Pauses = Backoff(firstMs = 100L, longestMs = 5000L)

  // The markers are usually there after some milliseconds.
  private val PausesForMarkers = Backoff(firstMs = 5L, longestMs = 1000L)

  def noLeader(partition: TopicPartition): LeaderNotAvailableException = new LeaderNotAvailableException(
    s"partition $partition has no leader: a commit would not become visible there"
  )

  private def notWritten(partitions: ju.Set[TopicPartition]): LeaderNotAvailableException =
    new LeaderNotAvailableException(s"Kafka is still committing in the partitions $partitions")
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
