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
private[sink] final class Committer(
    clusters: Clusters,
    pool: TransactionPool = TransactionPool.shared,
    clock: Clock = Clock.System
) {
  import Committer._

  /**
   * Returns the outcomes in the order of the transactions. After an interrupt, pending commits continue in the
   * background.
   *
   * @param ids Kafka's id of a cluster at the decision
   */
  def commit(transactions: Seq[Prepared], ids: String => Option[String]): Seq[(Prepared, Outcome)] =
    end(transactions, ids, Outcome.Committed)(_.commit(_, _))

  /** Aborts exactly these transactions: what was committed meanwhile is [[Outcome.Committed]]. */
  def abort(transactions: Seq[Prepared], ids: String => Option[String]): Seq[(Prepared, Outcome)] =
    end(transactions, ids, Aborted)(_.abort(_, _))

  private def end(transactions: Seq[Prepared], ids: String => Option[String], done: Outcome)(
      run: (ResumableProducer, String, Handle) => Unit
  ): Seq[(Prepared, Outcome)] = {
    val deadline = clusters.deadline(clock)
    def ended(t: Prepared): Outcome = repeated(deadline, isFinal(t)) { failures =>
      try {
        // After a failure another producer, which waits longer.
        pool.use(clusters.committing(t.cluster, failures))(
          run(_, t.transactionalId, Handle(t.producerId, t.epoch))
        )
        done
      } catch { case NonFatal(e) => judge(t, ids, e) }
    }
    def endLot(lot: Seq[Prepared]): Seq[(Prepared, Outcome)] = {
      var failed: Option[Outcome.Pending] = None
      lot.map { transaction =>
        // Otherwise each transaction of an unreachable cluster would wait as long as the first one, and each one of a
        // cluster that refuses the credentials would be another log-in.
        val outcome = failed
          .filter(known => clock.nanoTime() >= deadline || ClusterFailure.isRefused(known.cause))
          .getOrElse(ended(transaction))
        failed = Some(outcome).collect { case pending: Outcome.Pending => pending }
        transaction -> outcome
      }
    }
    val outcomes = clusters.each(Lots.of(transactions))(endLot).flatten.toMap
    transactions.map(t => t -> outcomes(t))
  }

  private def isFinal(t: Prepared)(outcome: Outcome): Boolean = outcome match {
    case Outcome.Pending(cause) if !ClusterFailure.isRefused(cause) && !Thread.interrupted() =>
      log.info(s"Transaction '${t.transactionalId}' is not ended yet: $cause")
      false
    case _ => true
  }

  /** Repeats this until its result is final, or the time limit. */
  @annotation.tailrec
  private def repeated[A](
      deadline: Long,
      isFinal: A => Boolean,
      pauses: Backoff = Pauses,
      failures: Int = 0
  )(attempt: Int => A): A = {
    val result = attempt(failures)
    if (clock.nanoTime() >= deadline || isFinal(result)) result
    else {
      // Usually the client has waited already; if not, this prevents a busy loop.
      val leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - clock.nanoTime())
      clock.pauseMs(math.max(1L, math.min(pauses.pauseMs(failures + 1), leftMs)))
      repeated(deadline, isFinal, pauses, failures + 1)(attempt)
    }
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
    val answers = clusters.each(transactions.groupBy(_.cluster).toSeq.sortBy(_._1)) { case (id, of) =>
      id -> seen(id, of)
    }.toMap
    Inspection(
      transactions.map(t => t -> answers(t.cluster).fold(Outcome.Pending(_), Verdict(t, ids(t.cluster), _))),
      answers.collect { case (id, Right(answer)) => id -> answer }
    )
  }

  /**
   * The same, repeated until all clusters have answered, or the time limit, or something is committed, or all others refuse
   * the credentials.
   */
  def awaitStates(transactions: Seq[Prepared], ids: String => Option[String]): Inspection =
    repeated[Inspection](
      clusters.deadline(clock),
      report =>
        report.outcomes.exists(_._2 == Outcome.Committed) ||
          report.outcomes.collect { case (_, Outcome.Pending(e)) => e }.forall(ClusterFailure.isRefused)
    )(_ => inspect(transactions, ids))

  private def seen(id: String, transactions: Seq[Prepared]): Either[Throwable, Seen] =
    try {
      val seen = describe(id, transactions)
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

  private def describe(id: String, transactions: Seq[Prepared]): Seen =
    clusters.ask(id)(_.describe(transactions.map(_.transactionalId), transactions.flatMap(_.topics).toSet))

  /**
   * Returns when readers can see what these transactions have written, or the reason why they cannot. Kafka acknowledges a commit before
   * it writes the markers, and a broker of Kafka 4 completes a transaction without them in partitions that have no leader (KAFKA-20734,
   * observed with 4.3.1). The records of such a partition are neither visible nor aborted, and `read_committed` readers wait there
   * forever.
   *
   * @param inSync the replicas in sync of their partitions, by cluster id, before they were committed
   * @param earlier whether an earlier run may have committed them, so that a partition without a leader was not noticed
   */
  def awaitVisible(
      committed: Seq[Prepared],
      inSync: Map[String, Map[TopicPartition, Int]],
      earlier: Boolean
  ): Option[Throwable] = {
    val deadline = clusters.deadline(clock)
    val fragile = for {
      (id, of) <- committed.groupBy(_.cluster).toSeq.sortBy(_._1)
      // If a partition has several replicas, another one of them leads it and gets the marker.
      partitions = inSync.getOrElse(id, Map.empty).filter(earlier || _._2 <= 1).keySet if partitions.nonEmpty
    } yield (id, of, partitions)
    clusters.each(fragile) { case (id, of, partitions) =>
      // The partitions that had no leader at any time.
      var doubtful = if (earlier) partitions else Set.empty[TopicPartition]
      repeated[Option[Throwable]](deadline, _.isEmpty, PausesForMarkers) { _ =>
        try {
          val seen = describe(id, of)
          doubtful ++= seen.leaderless & partitions
          seen.known.values.find(_.state == PREPARE_COMMIT).map(t => notWritten(t.topicPartitions))
            .orElse(doubtful.find(seen.leaderless).map(noLeader))
            .orElse(if (doubtful.isEmpty) None else repair(id, of, doubtful))
        } catch { case NonFatal(e) => Some(e) }
      }
    }.flatten.headOption
  }

  /** Returns a reason to look again, if something was open. */
  private def repair(
      id: String,
      committed: Seq[Prepared],
      partitions: Set[TopicPartition]
  ): Option[Throwable] =
    try {
        val open = clusters.admin(id).openIn(partitions)
        for {
          t <- committed
          where = open.collect {
            case (p, producers) if t.topics.contains(p.topic) && producers(t.producerId) => p
          }.toSet if where.nonEmpty
        } yield {
          log.warn(
            s"Kafka has committed a transaction without telling ${where.mkString(", ")}, which had no leader. Committing it " +
              s"there: ${t.shown}"
          )
          pool.use(clusters.committing(id))(_.complete(t.transactionalId, t.producerId, where))
          noLeader(where.head)
        }
      }.headOption
    catch {
      // Writers need not have this right, and only leaders know.
      case e: AuthorizationException =>
        log.warn(
          s"It cannot be determined whether all records of a batch are visible on Kafka cluster '$id': the right to READ " +
            s"is missing: ${e.getMessage}"
        )
        None
    }
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
