package io.github.dynamickafka.sink.commit

import java.io.IOException
import java.util.concurrent.TimeUnit

import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.UnknownCommitPolicy
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.query.PlannedDeferrals
import io.github.dynamickafka.sink.journal.{
  BatchInput,
  Claim,
  Journal,
  JournalCluster,
  JournalEntry,
  LostParts
}
import io.github.dynamickafka.sink.transaction.{Prepared, TaskTransactions, TransactionName, TransactionPool}
import io.github.dynamickafka.time.Clock

/**
 * Makes each batch visible once or not at all: tasks prepare transactions, [[decide]] writes the decision to the
 * journal, and then this run or a later one commits the transactions. Kafka has no commit over several clusters, so all
 * clusters receive the batch, but not at the same instant.
 *
 * For one run of a query. Not thread-safe, except for [[Clusters]].
 *
 * @param claim the claim of this run on the journal
 * @param journal None: there is no location for a journal, so that after a failure of the driver during the commits,
 *                only a part of the job is committed
 * @param ofStreams whether it is a streaming query, with the journal in its checkpoint
 * @param earlier journals of earlier jobs
 * @param steps called at each step, for tests that terminate the driver there
 * @param plans what the sources of the query have left out of its batches
 */
private[sink] final class TwoPhaseCommit(
    name: TransactionName,
    claim: Claim,
    journal: Option[Journal],
    ofStreams: Boolean,
    earlier: Seq[Journal],
    clusters: Clusters,
    replayLost: Boolean,
    unknown: UnknownCommitPolicy,
    commitTimeoutMs: Long,
    pool: TransactionPool,
    steps: CommitProbe,
    clock: Clock,
    plans: PlannedDeferrals
) {
  private val log = LoggerFactory.getLogger(classOf[TwoPhaseCommit])
  private val inspector = new Inspector(clusters, clock)
  private val committer = new Committer(clusters.committing, inspector, pool, clock, clusters.threads)
  private val markers = new Markers(clusters, clusters.committing, pool, clock)
  private val rollForward =
    new RollForward(inspector, committer, markers, unknown, commitTimeoutMs, clock, end(_, _))
  private val leftovers = new Leftovers(name, claim, journal, clusters)

  private var committed: Option[Long] = None
  private var decided: Option[Long] = None
  private var repeating: Option[LostParts] = None
  private var planned: Option[(Long, BatchInput)] = None
  private var sweeps = TwoPhaseCommit.Sweeps
  private var ownSweeps = 0

  private var last = TwoPhaseCommit.Summary(0, 0L)

  /** The summary of the last committed batch. */
  def summary: TwoPhaseCommit.Summary = last

  /** The batch whose writers discard their rows: it is committed, and Spark runs it again or has just finished it. */
  def lastCommitted: Option[Long] = committed

  /** The parts of the next batch that must be written, if not the whole batch. */
  def replay: Option[LostParts] = repeating

  /** A cluster that was not asked for leftovers responds again. */
  def sweepAgain(): Unit = {
    sweeps = TwoPhaseCommit.Sweeps
    ownSweeps = TwoPhaseCommit.Sweeps
  }

  /** Called before the first batch: completes or aborts the transactions of earlier runs. */
  def recover(): Unit = {
    earlier.foreach { j =>
      j.newest().filterNot(_._2).foreach { case (entry, _) =>
        // The earlier job detects this, if it still runs.
        val taken = j.claim(entry.queryId, claim.run)
        clusters.remember(entry)
        // A lost part of another job cannot be written again: this job has other rows.
        val _ = rollForward(j, taken, entry, mayReplay = false)
      }
      j.delete()
    }
    journal.foreach { j =>
      val last = j.newest()
      last.filterNot(_._2).foreach { case (entry, _) =>
        clusters.remember(entry)
        // What is decided is committed even if the query has another plan by now; but its rows are not used for the rest.
        repeating = rollForward(j, claim, entry, replayLost).filter(_ => !ofStreams || checkInput(j, entry))
      }
      // A run that was paused may write its decision only now: it is not committed, and is dropped when this run decides.
      if (repeating.isEmpty)
        last.filter(_._2).orElse(j.newest().filter(_._2)).foreach { case (entry, _) =>
          clusters.remember(entry)
          // A job with this name has written its only batch.
          committed = Option.when(!ofStreams || checkInput(j, entry))(entry.batch)
          if (!ofStreams) log.info(s"Job '${entry.queryId}' is already written: its rows are discarded")
        }
    }
    leftovers.ofEarlierRuns()
  }

  /**
   * Compares what a decision is about with what Spark has planned since. Only then a batch with the same number is the
   * batch that is written.
   *
   * @return whether Spark runs the decided batch again; if not, it has finished it
   */
  private def checkInput(j: Journal, entry: JournalEntry): Boolean = {
    def conflict(why: String) = throw Errors.journalConflict(
      j.path,
      s"according to the journal, batch ${entry.batch} is decided, but $why. ${TwoPhaseCommit.OlderPlan}"
    )
    val last = j.lastPlanned()
    if (!last.exists(_ >= entry.batch))
      conflict(
        s"the offset log of the query ${last.fold("is empty")(n => s"ends with batch $n")}: a part of the checkpoint is older " +
          "than the rest"
      )
    val repeated = last.contains(entry.batch)
    val now = j.input(entry.batch)
    if (repeated)
      entry.input.difference(now.getOrElse(BatchInput.Empty)).foreach(what =>
        conflict(s"the query has planned another batch with this number: $what")
      )
    else
      // Of two runs, one may defer a part of the batch while the other one decides all of it. The next batch has the part again.
      now.flatMap(entry.input.additions).foreach(what =>
        throw Errors.journalConflict(
          j.path,
          s"batch ${entry.batch} is written with all its records, but records of the batch are deferred: $what. Delete these " +
            s"files, and in the offset log of the query the files of later batches, from 'offsets/${entry.batch + 1}' on: " +
            "otherwise the next batch writes these records again"
        )
      )
    repeated
  }

  /**
   * @param startedNanos the time when the tasks of the batch were started, in nanoseconds: no transaction is older
   * @param timeoutMs `transaction.timeout.ms` of a cluster
   * @param secondAttempts whether any task had a second attempt, also one that was not accepted
   * @param leftOut the clusters that are left out of the batch
   */
  def commit(
      batch: Long,
      tasks: Seq[TaskTransactions],
      startedNanos: Long,
      timeoutMs: String => Long,
      secondAttempts: Boolean = false,
      leftOut: Set[String] = Set.empty
  ): Unit =
    if (!committed.contains(batch)) {
      val from = clock.nanoTime()
      val transactions = tasks.flatMap(_.prepared)
      val again = repeating.filter(_.batch == batch)
      again.flatMap(_.difference(tasks)).foreach(why => throw Errors.replayDiffers(batch, why))
      if (transactions.nonEmpty) {
        checkAge(batch, tasks, startedNanos, timeoutMs)
        steps.reached("before-decision", batch)
        journal.foreach(_.checkClaim(claim))
        val planned = input(batch)
        val report = checkOpen(batch, transactions)
        checkAge(batch, tasks, startedNanos, timeoutMs)
        val entry = JournalEntry(
          claim.queryId,
          claim.run,
          claim.instance,
          claim.generation,
          batch,
          again.fold(0)(_.round),
          planned,
          transactions,
          transactions.map(_.cluster).distinct
            .map(id => id -> JournalCluster(report.kafkaIds.get(id), clusters.safe(id))).toMap,
          leftOut
        )
        journal.foreach { j =>
          j.checkClaim(claim)
          steps.reached("claimed", batch)
          dropStale(j, entry)
          decide(j, entry)
        }
        // From here on, other runs can see the decision, so the batch must not be aborted.
        decided = Some(batch)
        journal.fold(finish(entry, report.inSync))(_.ending(claim)(finish(entry, report.inSync)))
      }
      last =
        TwoPhaseCommit.Summary(transactions.size, TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - from))
      committed = Some(batch)
      repeating = None
      // An attempt that was not accepted may have left an open transaction, which blocks consumers with read_committed until
      // its timeout. It may do so later, too: Spark does not wait for the end of an attempt that lost.
      if (secondAttempts || tasks.exists(_.retried)) ownSweeps = TwoPhaseCommit.Sweeps
      if (ownSweeps > 0) {
        ownSweeps -= 1
        leftovers.ofThisRun()
      }
      // An executor of an earlier run may still have opened transactions during the last search.
      if (sweeps > 0) {
        sweeps -= 1
        leftovers.ofEarlierRuns()
      }
    }

  /**
   * Called before the tasks of a batch are started, after they are planned. Another run may defer a part of the batch at any
   * time: then this batch is not what the other run has planned. Compared with the plan of this run, not with what the
   * checkpoint has when this is called, which may be what the other run has planned already.
   */
  def begin(): Unit = if (ofStreams) journal.foreach { j =>
    def input(batch: Long) = j.input(batch).map(found => batch -> j.planned(batch, found, plans))
    // Usually the next one, which saves a listing.
    planned = planned.flatMap(last => input(last._1 + 1)).orElse(j.lastPlanned().flatMap(input))
  }

  private def input(batch: Long): BatchInput = journal.filter(_ => ofStreams).fold(BatchInput.Empty) { j =>
    val now = j.input(batch).getOrElse(throw Errors.exactlyOnceRefused(TwoPhaseCommit.NotPlanned))
    planned.filter(_._1 == batch).flatMap(_._2.difference(now)).foreach(what =>
      throw Errors.journalConflict(
        j.path,
        s"another run of the query has planned batch $batch while this run has written it: $what"
      )
    )
    now
  }

  /**
   * A task that was stalled for long may have used an id again, and a transaction may have expired on one cluster only:
   * after the decision, this would leave a part of the batch.
   */
  private def checkOpen(batch: Long, transactions: Seq[Prepared]): Inspector.Report = {
    val report = inspector.await(transactions, _ => None, deadline())
    report.outcomes.collectFirst { case (t, outcome) if outcome != Outcome.Open => t -> outcome }.foreach {
      case (t, outcome) =>
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

  /**
   * Drops a decision that an earlier run wrote after this run had checked the journal. That run checks the claim before
   * it commits anything, and fails.
   */
  private def dropStale(j: Journal, entry: JournalEntry): Unit =
    j.undone(entry.batch, entry.round).filter(_.run != claim.run).foreach { stale =>
      // Must not drop the decision of a later run, which decides only after it has claimed the journal.
      j.checkClaim(claim)
      log.warn(
        s"Run '${stale.run}' of the query decided batch ${stale.batch} after this run had started: dropping its decision"
      )
      clusters.remember(stale)
      // Those of another instance of the journal belong to a copy of the query.
      val ended =
        if (stale.instance == claim.instance) committer.abort(stale.transactions, stale.kafkaId, deadline())
        else inspector.once(stale.transactions, stale.kafkaId).outcomes
      ended.collectFirst { case (t, Outcome.Committed) => t }.foreach { t =>
        throw Errors.journalConflict(
          j.path,
          s"run '${stale.run}' of the query has committed a part of batch ${stale.batch}: ${Decision.at(t)}"
        )
      }
      j.retract(stale)
    }

  /** A failed write may have been effective: if this cannot be determined, nothing is aborted. */
  private def decide(j: Journal, entry: JournalEntry): Unit =
    try j.decide(entry)
    catch {
      case e: IOException =>
        decided = Some(entry.batch)
        if (j.has(entry))
          log.warn(s"The decision for batch ${entry.batch} was written despite an error", e)
        else {
          decided = None
          throw e
        }
    }

  private def finish(entry: JournalEntry, inSync: Map[String, Map[TopicPartition, Int]]): Unit = {
    // A run that started meanwhile either has seen the decision and commits it, or has written its claim before the
    // decision and may be aborting these transactions. In the second case, none of them may be committed.
    journal.foreach(_.checkClaim(claim))
    steps.reached("decided", entry.batch)
    Decision.of(RollForward.assumed(entry.batch, end(entry, entry.transactions), unknown)) match {
      case Decision.Done =>
        markers.await(entry.transactions, inSync, earlier = false, deadline()).foreach { cause =>
          throw RollForward.incomplete(entry.batch, entry.transactions, cause)
        }
        steps.reached("committed", entry.batch)
        journal.foreach(_.finish(entry))
      case nothing: Decision.Nothing =>
        journal.foreach(_.retract(entry))
        throw if (entry.round == 0) Errors.transactionsAborted(entry.batch, nothing.reason)
        else RollForward.partial(entry.batch, nothing.lost)
      case Decision.Open(pending, cause) => throw RollForward.incomplete(entry.batch, pending, cause)
      case Decision.Unknown(which) => throw RollForward.undetermined(entry.batch, which)
      case Decision.Partial(lost) => throw RollForward.partial(entry.batch, lost)
    }
  }

  /** Spark also calls this after [[commit]] has thrown. A decided batch is never aborted. */
  def abort(batch: Long, tasks: Seq[TaskTransactions]): Unit =
    if (!decided.contains(batch) && !committed.contains(batch)) {
      leftovers.abort(batch, tasks.flatMap(_.prepared))
      // Transactions of tasks that were killed right after their end, whose messages Spark drops.
      leftovers.ofThisRun()
    }

  private def end(entry: JournalEntry, transactions: Seq[Prepared]): Seq[(Prepared, Outcome)] = {
    val until = deadline()
    if (steps.oneByOne)
      transactions.flatMap { transaction =>
        val outcome = committer.commit(Seq(transaction), entry.kafkaId, until)
        steps.reached("between-commits", entry.batch)
        outcome
      }
    else committer.commit(transactions, entry.kafkaId, until)
  }

  private def deadline(): Long = clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(commitTimeoutMs)

  private def checkAge(
      batch: Long,
      tasks: Seq[TaskTransactions],
      startedNanos: Long,
      timeoutMs: String => Long
  ): Unit = {
    val sinceStartMs = TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - startedNanos)
    val nowMs = clock.currentTimeMillis()
    for (task <- tasks; t <- task.prepared) {
      val (ageMs, limitMs) = (task.ages.of(t.cluster, sinceStartMs, nowMs), timeoutMs(t.cluster))
      if (ageMs > limitMs * TwoPhaseCommit.SafeShare)
        throw Errors.transactionsAborted(
          batch,
          s"${Decision.at(t)} has been open for $ageMs ms, and the transaction timeout is $limitMs ms " +
            "('transaction.timeout.ms'): the remaining time is too short to commit safely."
        )
    }
  }
}

private[sink] object TwoPhaseCommit {

  /** @param commitMs the time from the end of the tasks to the last commit, including the journal, in milliseconds */
  final case class Summary(transactions: Int, commitMs: Long)

  /** The share of the transaction timeout that may have passed at the decision. The rest is for the commit. */
  val SafeShare = 0.5

  private val NotPlanned =
    "the offset log at 'checkpointLocation' does not contain the batch. Either this is not the checkpoint of the query, or " +
      "the query runs in real-time mode, where a failed batch is not repeated with the same records."

  private val OlderPlan =
    "If only a file in a folder 'deferred' is new, delete that file: the batch was written with all its records. Otherwise " +
      "restore the checkpoint as a whole. If this is not possible: after the files of this batch in the journal are deleted, " +
      "the query continues from its offset log and loses nothing, but writes records again that the journal's batch and its " +
      "own batches have in common."

  /** The number of batches after which open transactions of earlier runs, or of attempts that lost, are searched for. */
  private val Sweeps = 2
}
