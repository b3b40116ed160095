package io.github.dynamickafka.sink.commit

import java.io.IOException
import java.util.concurrent.{ExecutorService, TimeUnit}

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{TransactionOptions, UnknownCommitPolicy}
import io.github.dynamickafka.error.{DynamicKafkaRuntimeException, Errors}
import io.github.dynamickafka.storage.PlannedDeferrals

/**
 * Makes each batch visible once or not at all: tasks prepare transactions, the driver writes the decision to the journal, and
 * then this run or a later one commits the transactions. Kafka has no commit over several clusters, so all clusters receive
 * the batch, but not at the same instant.
 *
 * For one run of a query, which calls [[recover]] once, and for each batch [[begin]], then [[commit]] or [[abort]]. Not
 * thread-safe, except for [[Clusters]].
 *
 * @param earlier journals of earlier jobs; None: a streaming query, with the journal in its checkpoint
 * @param plans what the sources of the query have left out of its batches
 */
private[sink] final class TwoPhaseCommit(
    ids: TransactionalIds,
    context: CommitContext,
    earlier: Option[Seq[Journal]],
    plans: PlannedDeferrals,
    marking: ExecutorService = Clusters.threads
) {
  import TwoPhaseCommit._
  import context._

  private val isStreaming = earlier.isEmpty
  private val decisions = new Decisions(context, Option.when(isStreaming)(marking))
  import decisions.committer
  private val leftovers = new Leftovers(() => name, context)

  private var repeating: Option[LostParts] = None
  private var committed: Option[Long] = None
  private var decided: Option[Long] = None
  private var last = Summary(0, 0L)

  def summary: Summary = last

  /** The batch whose writers discard their rows: it is committed, and Spark runs it again or has just finished it. */
  def lastCommitted: Option[Long] = committed

  /** The parts of the next batch that must be written, if not the whole batch. */
  def replay: Option[LostParts] = repeating

  /** The transactional ids of the tasks, after [[recover]]. */
  def name: TransactionName = ids.name

  /** Called before the first batch: completes or aborts the transactions of earlier runs. */
  def recover(): Unit = {
    val (written, lost) = new Recovery(context, decisions)(earlier.toSeq.flatten)
    committed = written.map(_.batch)
    repeating = lost
    leftovers.ofEarlierRuns()
    ids.take()
  }

  /** Called before the tasks of a batch are started, after they are planned. */
  def begin(): Unit = {
    journal.awaitMark()
    ids.begin()
    if (isStreaming) journal.batches.begin(plans)
  }

  /**
   * @param startedNanos the time when the tasks of the batch were started, in nanoseconds: no transaction is older
   * @param secondAttempts whether Spark has reported, since the last call, that any task had a second attempt, also one that was not
   *                       accepted
   */
  def commit(
      batch: Long,
      tasks: Seq[TaskTransactions],
      startedNanos: Long,
      timeoutMs: String => Long,
      secondAttempts: () => Boolean = () => false,
      leftOut: Set[String] = Set.empty
  ): Unit = {
    val isRetried = tasks.exists(_.retried)
    val isStalled = secondAttempts() || isRetried
    if (committed.contains(batch)) {
      // Rows are only discarded if they are those that are written. Another run may have started meanwhile, and have decided only a
      // part of what this run has planned.
      journal.checkClaim(claim)
      val _ = inputOf(batch)
    } else unlessReplaced {
      val from = clock.nanoTime()
      val transactions = tasks.flatMap(_.prepared)
      val again = repeating.filter(_.batch == batch)
      again.flatMap(_.difference(tasks)).foreach(why => throw Errors.replayDiffers(batch, why))
      if (transactions.nonEmpty) {
        checkAge(batch, tasks, startedNanos, timeoutMs)
        probe.reached(CommitStep.BeforeDecision, batch)
        journal.checkClaim(claim)
        val input = inputOf(batch)
        val report = checkOpen(batch, transactions)
        checkAge(batch, tasks, startedNanos, timeoutMs)
        val known = report.seen.map { case (id, seen) =>
          id -> JournalCluster(seen.clusterId, clusters.safe(id), seen.topicIds)
        }
        val entry = JournalEntry(
          claim,
          batch,
          again.fold(0)(_.round),
          input,
          transactions,
          known,
          leftOut
        )
        decide(entry)
        decisions.finish(entry, report.inSync)
      }
      last = Summary(transactions.size, TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - from))
      committed = Some(batch)
      repeating = None
      // An attempt that was not accepted may have left an open transaction, which blocks consumers with read_committed until
      // its timeout.
      leftovers.afterBatch(transactions.map(_.cluster).toSet, isStalled)
    }
    // Spark may have reported one only now.
    ids.ended(tasks.flatMap(_.prepared).headOption.map(_.cluster), !isRetried, isStalled || secondAttempts())
  }

  /** Whether the transactions are young enough to be decided; otherwise TRANSACTIONS_ABORTED. */
  private def checkAge(
      batch: Long,
      tasks: Seq[TaskTransactions],
      startedNanos: Long,
      timeoutMs: String => Long
  ): Unit = {
    val sinceStartMs = TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - startedNanos)
    val nowMs = clock.currentTimeMillis()
    for (task <- tasks; t <- task.prepared) {
      val (ageMs, limitMs) = (task.ageMs(t.cluster, sinceStartMs, nowMs), timeoutMs(t.cluster))
      if (ageMs > limitMs * SafeShare)
        throw Errors.transactionsAborted(
          batch,
          s"${t.shown} has been open for $ageMs ms, and the transaction timeout is $limitMs ms " +
            "('transaction.timeout.ms'): the remaining time is too short to commit safely."
        )
    }
  }

  /**
   * Whether the transactions are open; otherwise TRANSACTIONS_ABORTED. A task that was stalled for long may have used an id again, a
   * transaction may have expired on one cluster only, and a topic may have been recreated: after the decision, this would leave a
   * part of the batch.
   */
  private def checkOpen(batch: Long, transactions: Seq[Prepared]): Inspection = {
    val report = committer.awaitStates(transactions, _ => None)
    val before = clusters.topicIds
    // The ids before the tasks of the batch are compared; afterwards they are those of the report.
    clusters.learnTopics(report.topicIds)
    report.ifNotRecreated(before, !isThere(_, _, report)).collectFirst {
      case (t, outcome) if outcome != Outcome.Open => t -> outcome
    }.foreach { case (t, outcome) =>
      val why = outcome match {
        case Outcome.Lost(reason) => reason
        case Outcome.Unknown(reason) => reason
        case p: Outcome.Pending if p.isLeaderless => p.cause.getMessage
        case Outcome.Pending(cause) => s"the cluster does not answer whether it is still open: $cause"
        case other => s"it is $other before the decision"
      }
      throw Errors.transactionsAborted(batch, s"${t.shown}: $why.")
    }
    report
  }

  /** A topic may have been recreated before the transaction wrote to it: then its leaders know the transaction. */
  private def isThere(t: Prepared, topic: String, report: Inspection): Boolean =
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

  private def decide(entry: JournalEntry): Unit = {
    journal.checkClaim(claim)
    probe.reached(CommitStep.Claimed, entry.batch)
    dropStale(entry)
    // A failed write may have been effective: if this cannot be determined, nothing is aborted.
    try journal.decide(entry)
    catch {
      case e: IOException =>
        decided = Some(entry.batch)
        if (!journal.has(entry)) {
          decided = None
          throw e
        }
        log.warn(s"The decision for batch ${entry.batch} was written despite an error", e)
    }
    // From here on, other runs can see the decision, so the batch must not be aborted.
    decided = Some(entry.batch)
  }

  /**
   * Drops a decision that an earlier run wrote after this run had checked the journal. That run checks the claim before
   * it commits anything, and fails.
   */
  private def dropStale(entry: JournalEntry): Unit =
    journal.undone(entry.batch, entry.round).filter(_.claim.run != claim.run).foreach { stale =>
      // Must not drop the decision of a later run, which decides only after it has claimed the journal.
      journal.checkClaim(claim)
      log.warn(
        s"Run '${stale.claim.run}' of the query with journal ${journal.path} decided batch ${stale.batch} after this run " +
          "had started: dropping its decision"
      )
      clusters.remember(stale)
      // The transactions of another instance of the journal belong to a copy of the query.
      val ended =
        if (stale.claim.instance == claim.instance) committer.abort(stale.transactions, stale.kafkaId)
        else committer.inspect(stale.transactions, stale.kafkaId).outcomes
      ended.collectFirst { case (t, Outcome.Committed) => t }.foreach { t =>
        throw Errors.journalConflict(
          journal.path,
          s"run '${stale.claim.run}' of the query has committed a part of batch ${stale.batch}: ${t.shown}"
        )
      }
      journal.retract(stale)
    }

  /** Throws JOURNAL_CONFLICT if a later run may have aborted the transactions: a longer time-out would not help. */
  private def unlessReplaced(body: => Unit): Unit =
    try body
    catch {
      case e: DynamicKafkaRuntimeException if e.getCondition.endsWith(".TRANSACTIONS_ABORTED") =>
        Try(journal.checkClaim(claim)).failed.foreach {
          case conflict: DynamicKafkaRuntimeException =>
            conflict.addSuppressed(e)
            throw conflict
          case unknown => e.addSuppressed(unknown)
        }
        throw e
    }

  private def inputOf(batch: Long): BatchInput =
    if (isStreaming) journal.batches.decided(batch) else BatchInput.Empty

  /** Spark also calls this after [[commit]] has thrown. A decided batch is never aborted. */
  def abort(batch: Long, tasks: Seq[TaskTransactions]): Unit =
    if (!decided.contains(batch) && !committed.contains(batch)) {
      leftovers.abort(batch, tasks.flatMap(_.prepared))
      // Transactions of tasks that were killed right after their end, whose messages Spark drops.
      leftovers.ofThisRun()
    }

  def close(): Unit = {
    try journal.awaitMark(CloseMs)
    catch {
      case NonFatal(e) =>
        log.warn(s"The last decision could not be marked as finished, which the next start repeats: $e")
    }
    ids.release()
  }
}

private[sink] object TwoPhaseCommit {

  private val log = LoggerFactory.getLogger(classOf[TwoPhaseCommit])

  /** How long the end of a query waits for a file system. */
  private val CloseMs = 10000L

  /** The share of the transaction timeout that may have passed at the decision. The rest is for the commit. */
  private val SafeShare = 0.5

  /** @param commitMs the time from the end of the tasks to the last commit, including the journal, in milliseconds */
  final case class Summary(transactions: Int, commitMs: Long)
}

private[sink] final case class CommitContext(
    claim: Claim,
    journal: Journal,
    clusters: Clusters,
    pool: TransactionPool,
    options: TransactionOptions,
    probe: CommitProbe,
    clock: Clock
) {

  /** The transactional ids of this run, if it gets no others. */
  def ownIds: TransactionName =
    TransactionName(options.idPrefix, claim.queryId, claim.instance, claim.generation)
}

/**
 * Commits decisions, of this run and of earlier ones.
 *
 * @param marking the executor of the marks of finished decisions; None: they are written before the commit returns, because Spark
 *                logs nothing afterwards
 */
private[commit] final class Decisions(context: CommitContext, marking: Option[ExecutorService]) {
  import Decisions._
  import context._

  val committer = new Committer(clusters, pool, clock)

  def finish(entry: JournalEntry, inSync: Map[String, Map[TopicPartition, Int]]): Unit =
    journal.ending(claim) {
      // A run that started meanwhile either has seen the decision and commits it, or has written its claim before the
      // decision and may be aborting these transactions. In the second case, none of them may be committed.
      journal.checkClaim(claim)
      probe.reached(CommitStep.Decided(entry.transactions), entry.batch)
      val lost = this.lost(entry, commit(entry, entry.transactions), inSync, earlier = false)
      if (lost.isEmpty) {
        probe.reached(CommitStep.Committed, entry.batch)
        journal.finish(entry, marking)
      } else {
        val isAll = lost.size == entry.transactions.size
        if (isAll) journal.retract(entry)
        throw if (isAll && entry.round == 0) Errors.transactionsAborted(entry.batch, text(lost.take(1)))
        else Errors.partialCommit(entry.batch, text(lost), Recovery.remedy(entry.batch, journal.path))
      }
    }

  /** Commits some transactions of a decision, also of an earlier run. */
  def commit(entry: JournalEntry, transactions: Seq[Prepared]): Seq[(Prepared, Outcome)] =
    if (!probe.oneByOne) committer.commit(transactions, entry.kafkaId)
    else transactions.flatMap { transaction =>
      val outcome = committer.commit(Seq(transaction), entry.kafkaId)
      probe.reached(CommitStep.BetweenCommits, entry.batch)
      outcome
    }

  /**
   * The transactions of a decision that Kafka has aborted, with the reasons. The others are committed; if there are none, readers see
   * all of them.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException COMMIT_INCOMPLETE, TRANSACTION_UNKNOWN
   */
  def lost(
      entry: JournalEntry,
      outcomes: Seq[(Prepared, Outcome)],
      inSync: Map[String, Map[TopicPartition, Int]],
      earlier: Boolean
  ): Seq[(Prepared, String)] = {
    val known = assumed(entry.batch, outcomes)
    // One of them may be committed: nothing is given up before its state is known.
    val unknown = known.collect { case (t, Outcome.Unknown(reason)) => t -> reason }
    if (unknown.nonEmpty) throw Errors.transactionUnknown(entry.batch, text(unknown))
    def incomplete(pending: Seq[Prepared], cause: Throwable) = throw Errors.commitIncomplete(
      entry.batch,
      pending.map(_.shown).mkString("; "),
      s"${cause.getClass.getSimpleName}: ${cause.getMessage}",
      cause
    )
    val pending = known.collect { case (t, Outcome.Pending(cause)) => t -> cause }
    pending.headOption.foreach { case (_, cause) => incomplete(pending.map(_._1), cause) }
    val lost = known.collect { case (t, Outcome.Lost(reason)) => t -> reason }
    if (lost.isEmpty) {
      val committed = known.map(_._1)
      committer.awaitVisible(committed, inSync, earlier).foreach(incomplete(committed, _))
    }
    lost
  }

  /** Replaces unknown outcomes by what the user has chosen to assume about them. */
  def assumed(batch: Long, outcomes: Seq[(Prepared, Outcome)]): Seq[(Prepared, Outcome)] = outcomes.map {
    case (t, Outcome.Unknown(reason)) if options.unknown != UnknownCommitPolicy.Fail =>
      val isCommitted = options.unknown == UnknownCommitPolicy.AssumeCommitted
      log.warn(
        s"It is not known whether a transaction of batch $batch was committed, and assumed that it was " +
          s"${if (isCommitted) "committed" else "aborted"} ('unknownCommitPolicy'): ${t.shown}: $reason"
      )
      t -> (if (isCommitted) Outcome.Committed
            else Outcome.Lost(s"assumed by 'unknownCommitPolicy': $reason"))
    case other => other
  }
}

private[commit] object Decisions {
  private val log = LoggerFactory.getLogger(classOf[Decisions])

  def text(transactions: Seq[(Prepared, String)]): String =
    transactions.map { case (t, reason) => s"${t.shown}: $reason" }.mkString("; ")
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
