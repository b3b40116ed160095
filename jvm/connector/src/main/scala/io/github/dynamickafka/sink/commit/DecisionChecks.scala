package io.github.dynamickafka.sink.commit

import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.Errors

/** What has to hold for the transactions of a batch before it is decided; otherwise TRANSACTIONS_ABORTED. */
private[commit] final class DecisionChecks(inspector: Inspector, topics: RecreatedTopics, clock: Clock) {
  import DecisionChecks._

  /**
   * @param startedNanos when the tasks of the batch were started: no transaction is older
   * @param timeoutMs `transaction.timeout.ms` of a cluster
   */
  def age(batch: Long, tasks: Seq[TaskTransactions], startedNanos: Long, timeoutMs: String => Long): Unit = {
    val sinceStartMs = TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - startedNanos)
    val nowMs = clock.currentTimeMillis()
    for (task <- tasks; t <- task.prepared) {
      val (ageMs, limitMs) = (task.ages.of(t.cluster, sinceStartMs, nowMs), timeoutMs(t.cluster))
      if (ageMs > limitMs * SafeShare)
        throw Errors.transactionsAborted(
          batch,
          s"${Decision.at(t)} has been open for $ageMs ms, and the transaction timeout is $limitMs ms " +
            "('transaction.timeout.ms'): the remaining time is too short to commit safely."
        )
    }
  }

  /**
   * A task that was stalled for long may have used an id again, a transaction may have expired on one cluster only, and a topic
   * may have been recreated: after the decision, this would leave a part of the batch.
   */
  def open(batch: Long, transactions: Seq[Prepared], deadlineNanos: Long): Inspector.Report = {
    val report = inspector.await(transactions, _ => None, deadlineNanos)
    topics.sinceTasks(report).collectFirst { case (t, outcome) if outcome != Outcome.Open => t -> outcome }
      .foreach { case (t, outcome) =>
        val why = outcome match {
          case Outcome.Lost(reason) => reason
          case Outcome.Unknown(reason) => reason
          case p: Outcome.Pending if p.isLeaderless => p.cause.getMessage
          case Outcome.Pending(cause) => s"the cluster does not answer whether it is still open: $cause"
          case other => s"it is $other before the decision"
        }
        throw Errors.transactionsAborted(batch, s"${Decision.at(t)}: $why.")
      }
    report
  }
}

private[commit] object DecisionChecks {

  /** The share of the transaction timeout that may have passed at the decision. The rest is for the commit. */
  val SafeShare = 0.5
}

/**
 * A topic that is deleted and created again has none of the records that open transactions had written to it, and Kafka commits
 * these transactions without an error. So the id of each topic is compared with that at an earlier time.
 */
private[commit] final class RecreatedTopics(clusters: Clusters) {
  import RecreatedTopics._

  /** Compares with the ids before the tasks of the batch; afterwards they are those of the report. */
  def sinceTasks(report: Inspector.Report): Seq[(Prepared, Outcome)] = {
    val before = clusters.topicIds
    clusters.learnTopics(report.topicIds)
    report.outcomes.map {
      case (t, Outcome.Open) =>
        t -> recreated(
          t,
          before,
          report.topicIds
        ).filterNot(isThere(t, _, report)).fold[Outcome](Outcome.Open)(lost)
      case other => other
    }
  }

  /** It may have been recreated before the transaction wrote to it: then its leaders know the transaction. */
  private def isThere(t: Prepared, topic: String, report: Inspector.Report): Boolean =
    try {
      val partitions = report.partitions.getOrElse(t, Set.empty).filter(_.topic == topic)
      val open = clusters.admin(t.cluster).openIn(partitions)
      partitions.nonEmpty && partitions.forall(open.get(_).exists(_.contains(t.producerId)))
    } catch {
      case NonFatal(e) =>
        log.warn(
          s"It cannot be determined whether a transaction is open in topic '$topic', which was recreated: $e"
        )
        false
    }
}

private[commit] object RecreatedTopics {
  private val log = LoggerFactory.getLogger(classOf[RecreatedTopics])

  /** Compares with the ids at the decision. */
  def sinceDecision(entry: JournalEntry, report: Inspector.Report): Seq[(Prepared, Outcome)] = {
    val before = entry.clusters.map { case (id, cluster) => id -> cluster.topicIds }
    report.outcomes.map {
      case (t, Outcome.Open) => t -> recreated(t, before, report.topicIds).fold[Outcome](Outcome.Open)(lost)
      case other => other
    }
  }

  private def recreated(
      t: Prepared,
      before: Map[String, Map[String, String]],
      now: Map[String, Map[String, String]]
  ): Option[String] = t.topics.find { topic =>
    def id(ids: Map[String, Map[String, String]]) = ids.get(t.cluster).flatMap(_.get(topic))
    id(before).exists(known => id(now).exists(_ != known))
  }

  private def lost(topic: String): Outcome =
    Outcome.Lost(s"topic '$topic' was recreated after records were written to it, which it does not have now")
}
