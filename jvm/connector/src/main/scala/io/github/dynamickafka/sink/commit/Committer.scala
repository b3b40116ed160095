package io.github.dynamickafka.sink.commit

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

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
    var failed: Option[Outcome.Pending] = None
    try
      lot.map { transaction =>
        // Otherwise each transaction of an unreachable cluster would wait as long as the first one, and each one of a
        // cluster that refuses the credentials would be another log-in.
        val outcome = failed
          .filter(known => clock.nanoTime() >= deadlineNanos || ClusterFailure.isRefused(known.cause))
          .getOrElse(endOne(
            transaction,
            deadlineNanos,
            done,
            judge(transaction, _),
            failures = 1
          )(attempt(transaction, _)))
        failed = Some(outcome).collect { case pending: Outcome.Pending => pending }
        transaction -> outcome
      }
    finally producer.foreach(pool.release(settings, _))
  }

  @annotation.tailrec
  private def endOne(
      transaction: Prepared,
      deadlineNanos: Long,
      done: Outcome,
      judge: Throwable => Outcome,
      failures: Int
  )(attempt: Int => Unit): Outcome = {
    val outcome =
      try {
        attempt(failures - 1)
        done
      } catch { case NonFatal(e) => judge(e) }
    outcome match {
      case known: Outcome.Pending
          if !ClusterFailure.isRefused(known.cause) && clock.nanoTime() < deadlineNanos &&
            !Thread.interrupted() =>
        Committer.pause(clock, failures, deadlineNanos)
        log.info(
          s"Transaction '${transaction.transactionalId}' is not ended yet, retrying: ${known.cause}"
        )
        endOne(transaction, deadlineNanos, done, judge, failures + 1)(attempt)
      case known => known
    }
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
 * Which transactions one producer ends, one after the other. A transaction takes two round trips, and many transactions on a distant
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
