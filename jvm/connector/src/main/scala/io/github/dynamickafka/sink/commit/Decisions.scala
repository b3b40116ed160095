package io.github.dynamickafka.sink.commit

import java.io.IOException
import java.util.concurrent.{ExecutorService, TimeUnit}

import scala.util.control.NonFatal

import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{TransactionOptions, UnknownCommitPolicy}
import io.github.dynamickafka.error.Errors

/**
 * What the steps of a commit need.
 *
 * @param claim the claim of this run on the journal
 * @param journal of the query, or of a job
 * @param probe called at the steps
 */
private[sink] final case class CommitContext(
    claim: Claim,
    journal: Journal,
    clusters: Clusters,
    pool: TransactionPool,
    options: TransactionOptions,
    probe: CommitProbe,
    clock: Clock
) {

  /** The time limit of a step that starts now, in nanoseconds. */
  def deadline(): Long = clusters.deadline(clock)

  /** The transactional ids of this run, if it gets no others. */
  def ownIds: TransactionName =
    TransactionName(options.idPrefix, claim.queryId, claim.instance, claim.generation)
}

/**
 * Checks the transactions of a batch, writes decisions of this run to its journal, and commits decisions.
 *
 * @param marking the executor of the marks of finished decisions; None: they are written before the commit returns, because Spark
 *                logs nothing afterwards
 */
private[commit] final class Decisions(context: CommitContext, marking: Option[ExecutorService]) {
  import Decisions._
  import context._

  val committer = new Committer(clusters, pool, clock)
  private val markers = new Markers(clusters, pool, clock)

  /**
   * Whether the transactions are young enough to be decided; otherwise TRANSACTIONS_ABORTED.
   *
   * @param startedNanos when the tasks of the batch were started: no transaction is older
   * @param timeoutMs `transaction.timeout.ms` of a cluster
   */
  def checkAge(
      batch: Long,
      tasks: Seq[TaskTransactions],
      startedNanos: Long,
      timeoutMs: String => Long
  ): Unit = {
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
   * Whether the transactions are open; otherwise TRANSACTIONS_ABORTED. A task that was stalled for long may have used an id again, a
   * transaction may have expired on one cluster only, and a topic may have been recreated: after the decision, this would leave a
   * part of the batch.
   */
  def checkOpen(batch: Long, transactions: Seq[Prepared]): Inspector.Report = {
    val report = committer.inspector.await(transactions, _ => None, deadline())
    val before = clusters.topicIds
    // The ids before the tasks of the batch are compared; afterwards they are those of the report.
    clusters.learnTopics(report.topicIds)
    RecreatedTopics.lost(report, before, !isThere(_, _, report)).collectFirst {
      case (t, outcome) if outcome != Outcome.Open => t -> outcome
    }.foreach { case (t, outcome) =>
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

  /** A topic may have been recreated before the transaction wrote to it: then its leaders know the transaction. */
  private def isThere(t: Prepared, topic: String, report: Inspector.Report): Boolean =
    try {
      val partitions = report.seen.get(t.cluster).flatMap(_.partitions(t.transactionalId))
        .getOrElse(Set.empty).filter(_.topic == topic)
      val open = clusters.admin(t.cluster).openIn(partitions)
      partitions.nonEmpty && partitions.forall(open.get(_).exists(_.contains(t.producerId)))
    } catch {
      case NonFatal(e) =>
        log.warn(
          s"It cannot be determined whether a transaction is open in topic '$topic', which was recreated: $e"
        )
        false
    }

  /** @param isDecided called if writing fails: whether the decision may be there */
  def decide(entry: JournalEntry)(isDecided: Boolean => Unit): Unit = {
    journal.checkClaim(claim)
    probe.reached(CommitStep.Claimed, entry.batch)
    dropStale(entry)
    // A failed write may have been effective: if this cannot be determined, nothing is aborted.
    try journal.decide(entry)
    catch {
      case e: IOException =>
        isDecided(true)
        if (!journal.has(entry)) {
          isDecided(false)
          throw e
        }
        log.warn(s"The decision for batch ${entry.batch} was written despite an error", e)
    }
  }

  /**
   * Drops a decision that an earlier run wrote after this run had checked the journal. That run checks the claim before
   * it commits anything, and fails.
   */
  private def dropStale(entry: JournalEntry): Unit =
    journal.undone(entry.batch, entry.round).filter(_.run != claim.run).foreach { stale =>
      // Must not drop the decision of a later run, which decides only after it has claimed the journal.
      journal.checkClaim(claim)
      log.warn(
        s"Run '${stale.run}' of the query decided batch ${stale.batch} after this run had started: dropping its decision"
      )
      clusters.remember(stale)
      // The transactions of another instance of the journal belong to a copy of the query.
      val ended =
        if (stale.instance == claim.instance) committer.abort(stale.transactions, stale.kafkaId, deadline())
        else committer.inspector.once(stale.transactions, stale.kafkaId).outcomes
      ended.collectFirst { case (t, Outcome.Committed) => t }.foreach { t =>
        throw Errors.journalConflict(
          journal.path,
          s"run '${stale.run}' of the query has committed a part of batch ${stale.batch}: ${Decision.at(t)}"
        )
      }
      journal.retract(stale)
    }

  /** Commits what this run has just decided. */
  def finish(entry: JournalEntry, inSync: Map[String, Map[TopicPartition, Int]]): Unit =
    journal.ending(claim) {
      // A run that started meanwhile either has seen the decision and commits it, or has written its claim before the
      // decision and may be aborting these transactions. In the second case, none of them may be committed.
      journal.checkClaim(claim)
      probe.reached(CommitStep.Decided(entry.transactions), entry.batch)
      val lost = this.lost(entry, commit(entry, entry.transactions), inSync, earlier = false)
      if (lost.isEmpty) {
        probe.reached(CommitStep.Committed, entry.batch)
        marking.fold(journal.finish(entry))(journal.finish(entry, _))
      } else {
        val isAll = lost.size == entry.transactions.size
        if (isAll) journal.retract(entry)
        throw if (isAll && entry.round == 0) Errors.transactionsAborted(entry.batch, text(lost.take(1)))
        else Errors.partialCommit(entry.batch, text(lost), Rerun.remedy(entry.batch, journal.path))
      }
    }

  /** Commits some transactions of a decision, also of an earlier run. */
  def commit(entry: JournalEntry, transactions: Seq[Prepared]): Seq[(Prepared, Outcome)] = {
    val until = deadline()
    if (probe.oneByOne)
      transactions.flatMap { transaction =>
        val outcome = committer.commit(Seq(transaction), entry.kafkaId, until)
        probe.reached(CommitStep.BetweenCommits, entry.batch)
        outcome
      }
    else committer.commit(transactions, entry.kafkaId, until)
  }

  /**
   * The transactions of a decision that Kafka has aborted, with the reasons. The others are committed; if there are none, readers see
   * all of them.
   *
   * @param earlier whether the decision is that of an earlier run
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException COMMIT_INCOMPLETE, TRANSACTION_UNKNOWN
   */
  def lost(
      entry: JournalEntry,
      outcomes: Seq[(Prepared, Outcome)],
      inSync: Map[String, Map[TopicPartition, Int]],
      earlier: Boolean
  ): Seq[(Prepared, String)] = {
    val known = assumed(entry.batch, outcomes)
    def incomplete(pending: Seq[Prepared], cause: Throwable) = throw Errors.commitIncomplete(
      entry.batch,
      pending.map(Decision.at).mkString("; "),
      s"${cause.getClass.getSimpleName}: ${cause.getMessage}",
      cause
    )
    Decision.of(known) match {
      case Decision.Unknown(which) => throw Errors.transactionUnknown(entry.batch, text(which))
      case Decision.Open(pending, cause) => incomplete(pending, cause)
      case Decision.Ended(lost) =>
        if (lost.isEmpty) {
          val committed = known.map(_._1)
          markers.await(committed, inSync, earlier, deadline()).foreach(incomplete(committed, _))
        }
        lost
    }
  }

  /** Replaces unknown outcomes by what the user has chosen to assume about them. */
  def assumed(batch: Long, outcomes: Seq[(Prepared, Outcome)]): Seq[(Prepared, Outcome)] = outcomes.map {
    case (t, Outcome.Unknown(reason)) if options.unknown != UnknownCommitPolicy.Fail =>
      val isCommitted = options.unknown == UnknownCommitPolicy.AssumeCommitted
      log.warn(
        s"It is not known whether a transaction of batch $batch was committed, and assumed that it was " +
          s"${if (isCommitted) "committed" else "aborted"} ('unknownCommitPolicy'): ${Decision.at(t)}: $reason"
      )
      t -> (if (isCommitted) Outcome.Committed
            else Outcome.Lost(s"assumed by 'unknownCommitPolicy': $reason"))
    case other => other
  }
}

private[commit] object Decisions {
  private val log = LoggerFactory.getLogger(classOf[Decisions])

  /** The share of the transaction timeout that may have passed at the decision. The rest is for the commit. */
  private val SafeShare = 0.5

  def text(transactions: Seq[(Prepared, String)]): String =
    transactions.map { case (t, reason) => s"${Decision.at(t)}: $reason" }.mkString("; ")
}

/**
 * A topic that is deleted and created again has none of the records that open transactions had written to it, and Kafka commits
 * these transactions without an error. So the id of each topic is compared with that at an earlier time.
 */
private[commit] object RecreatedTopics {

  /** Compares with the ids at the decision. */
  def sinceDecision(entry: JournalEntry, report: Inspector.Report): Seq[(Prepared, Outcome)] =
    lost(report, entry.clusters.map { case (id, cluster) => id -> cluster.topicIds }, (_, _) => true)

  /**
   * @param before the ids of topics at the earlier time, by cluster id
   * @param counts whether a topic that was recreated makes a transaction count as lost
   */
  def lost(
      report: Inspector.Report,
      before: Map[String, Map[String, String]],
      counts: (Prepared, String) => Boolean
  ): Seq[(Prepared, Outcome)] = {
    val now = report.topicIds
    report.outcomes.map {
      case (t, Outcome.Open) =>
        def id(ids: Map[String, Map[String, String]], topic: String) =
          ids.get(t.cluster).flatMap(_.get(topic))
        val recreated =
          t.topics.find(topic => id(before, topic).exists(known => id(now, topic).exists(_ != known)))
        t -> recreated.filter(counts(t, _)).fold[Outcome](Outcome.Open)(topic =>
          Outcome.Lost(
            s"topic '$topic' was recreated after records were written to it, which it does not have now"
          )
        )
      case other => other
    }
  }
}

/** The steps of a commit, in their order. */
private[dynamickafka] sealed abstract class CommitStep(val name: String)

private[dynamickafka] object CommitStep {
  case object BeforeDecision extends CommitStep("before-decision")

  /** The claim was checked for the last time before the decision. */
  case object Claimed extends CommitStep("claimed")
  final case class Decided private[commit] (private[sink] val transactions: Seq[Prepared])
      extends CommitStep("decided")

  /** After each transaction, if they are committed one after the other. */
  case object BetweenCommits extends CommitStep("between-commits")
  case object Committed extends CommitStep("committed")
}

/** Called at the steps of a commit, on the thread of the query. */
private[dynamickafka] trait CommitProbe {
  def reached(step: CommitStep, batch: Long): Unit

  /** Whether transactions are committed one after the other. */
  def oneByOne: Boolean = false
}

private[dynamickafka] object CommitProbe {
  object NoOp extends CommitProbe {
    override def reached(step: CommitStep, batch: Long): Unit = ()
  }

  /**
   * Tests install a probe here, which the sinks get that are created afterwards: Spark creates them, also in a process of its own,
   * and nothing else of a test reaches them.
   */
  @volatile var installed: CommitProbe = NoOp
}
