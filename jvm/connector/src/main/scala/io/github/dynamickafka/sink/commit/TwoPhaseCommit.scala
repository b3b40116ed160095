package io.github.dynamickafka.sink.commit

import java.io.IOException
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.sink.transaction.{Prepared, TaskTransactions, TransactionName, TransactionPool}
import io.github.dynamickafka.time.Clock

/**
 * Makes batches appear once or not at all: tasks prepare transactions, [[decide]] writes the decision into the journal,
 * and from then on the batch is committed, by this run or by a later one. There is no commit over several clusters in
 * Kafka: all of them get the batch, not at one instant.
 *
 * For one run of a query. Not thread-safe, but for what [[Clusters]] does.
 *
 * @param journal None: there is no place for one, so that a driver that dies in the middle of commits leaves a part of the
 *                job behind
 * @param ofStreams whether it is a streaming query, and the journal is in its checkpoint
 * @param earlier journals of jobs that were there before
 * @param steps told of what happens, for tests that let the driver die in between
 */
private[sink] final class TwoPhaseCommit(
    name: TransactionName,
    journal: Option[Journal],
    ofStreams: Boolean,
    earlier: Seq[Journal],
    clusters: Clusters,
    replayLost: Boolean,
    commitTimeoutMs: Long,
    pool: TransactionPool,
    steps: CommitProbe,
    clock: Clock
) {
  private val log = LoggerFactory.getLogger(classOf[TwoPhaseCommit])
  private val committer = new Committer(clusters.committing, clusters.admin, pool, clock)

  private var committed: Option[Long] = None
  private var decided: Option[Long] = None
  private var repeating: Option[LostParts] = None
  private var sweeps = TwoPhaseCommit.Sweeps

  private var last = TwoPhaseCommit.Summary(0, 0L)

  /** Of the last batch that was committed. */
  def summary: TwoPhaseCommit.Summary = last

  /** The last batch that is there; writers of it discard what they get. */
  def lastCommitted: Option[Long] = committed

  /** Parts of the next batch that are to be written, if not all of it. */
  def replay: Option[LostParts] = repeating

  /** Before the first batch: ends what earlier runs have left. */
  def recover(): Unit = {
    earlier.foreach { j =>
      j.newest().filterNot(_._2).foreach { case (entry, _) =>
        clusters.remember(entry)
        rollForward(j, entry)
      }
      j.delete()
    }
    // What became of other jobs says nothing of this one.
    committed = None
    repeating = None
    journal.foreach { j =>
      j.claim(name.queryId, name.run)
      j.newest().foreach { case (entry, done) =>
        clusters.remember(entry)
        if (done) committed = Some(entry.batch) else rollForward(j, entry)
      }
    }
    abortEarlierRuns()
  }

  private def abortEarlierRuns(): Unit =
    abortLeftovers(id => id.startsWith(name.ofQuery) && !id.startsWith(name.ofRun))

  private def rollForward(j: Journal, entry: JournalEntry): Unit = {
    log.info(
      s"Batch ${entry.batch} was decided by an earlier run: commits its ${entry.transactions.size} transactions"
    )
    end(entry.batch, entry.transactions) match {
      case Decision.Done =>
        j.finish(entry)
        committed = Some(entry.batch)
      case Decision.Nothing(reason) =>
        log.warn(s"Kafka has aborted all of batch ${entry.batch}, which is written anew: $reason")
        j.retract(entry)
        committed = if (entry.round == 0) before(entry) else committed
        if (entry.round > 0)
          // What was lost once more, not all of the round before it, which others are there of.
          repeating = Some(LostParts.next(j.rounds(entry.batch), entry.transactions))
      case Decision.Open(pending, cause) => throw incomplete(entry.batch, pending, cause)
      case Decision.Partial(lost) =>
        if (!replayLost) throw partial(entry.batch, lost)
        log.warn(s"Of batch ${entry.batch} ${lost.size} transactions are lost, and written again")
        committed = before(entry)
        repeating = Some(LostParts.next(j.rounds(entry.batch), lost.map(_._1)))
    }
  }

  private def before(entry: JournalEntry) = Option.when(entry.batch > 0)(entry.batch - 1)

  /**
   * @param startedNanos when the tasks of the batch were started: no transaction is older
   * @param timeoutMs `transaction.timeout.ms`
   */
  def commit(batch: Long, tasks: Seq[TaskTransactions], startedNanos: Long, timeoutMs: Long): Unit =
    if (!committed.contains(batch)) {
      val from = clock.nanoTime()
      val transactions = tasks.flatMap(_.prepared)
      val again = repeating.filter(_.batch == batch)
      again.flatMap(_.difference(tasks)).foreach(why => throw Errors.replayDiffers(batch, why))
      if (transactions.nonEmpty) {
        checkAge(batch, startedNanos, timeoutMs)
        val entry = JournalEntry(
          name.queryId,
          name.run,
          batch,
          again.fold(0)(_.round),
          transactions,
          transactions.map(_.cluster).distinct.map(id => id -> clusters.safe(id)).toMap
        )
        steps.reached("before-decision", batch)
        journal.foreach { j =>
          j.checkClaim(name.run)
          if (ofStreams && !j.isPlanned(batch)) throw Errors.exactlyOnceRefused(TwoPhaseCommit.NotPlanned)
          steps.reached("claimed", batch)
          dropStale(j, entry)
          decide(j, entry)
        }
        // Whatever comes: it is there for others to see.
        decided = Some(batch)
        // A run that has started meanwhile either has seen the decision and commits it, or has written its claim before
        // that, and may be aborting these transactions: then nothing of them is committed.
        journal.foreach(_.checkClaim(name.run))
        steps.reached("decided", batch)
        finish(entry)
      }
      last =
        TwoPhaseCommit.Summary(transactions.size, TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - from))
      committed = Some(batch)
      repeating = None
      // A task that was tried again may have left a transaction that no reader gets past until its time is out.
      if (tasks.exists(_.retried)) abortLeftovers(_.startsWith(name.ofRun))
      // An executor of an earlier run may have been at work when its leftovers were looked for.
      if (sweeps > 0) {
        sweeps -= 1
        abortEarlierRuns()
      }
    }

  /**
   * A decision that an earlier run has written after this one had looked for it. That run finds out that it is not its turn
   * before it commits anything of it.
   */
  private def dropStale(j: Journal, entry: JournalEntry): Unit =
    j.undone(entry.batch, entry.round).filter(_.run != name.run).foreach { stale =>
      // Not that of a later run, which decides only after it has claimed the journal.
      j.checkClaim(name.run)
      log.warn(
        s"Run '${stale.run}' of the query has decided batch ${stale.batch} after this one began: drops that"
      )
      clusters.remember(stale)
      fence(stale.batch, stale.transactions)
      j.retract(stale)
    }

  /** A write that fails may have been done all the same: where nobody can tell, nothing is aborted. */
  private def decide(j: Journal, entry: JournalEntry): Unit =
    try j.decide(entry)
    catch {
      case e: IOException =>
        decided = Some(entry.batch)
        if (j.has(entry))
          log.warn(s"The decision for batch ${entry.batch} is written, in spite of an error", e)
        else {
          decided = None
          throw e
        }
    }

  private def finish(entry: JournalEntry): Unit = end(entry.batch, entry.transactions) match {
    case Decision.Done =>
      steps.reached("committed", entry.batch)
      journal.foreach(_.finish(entry))
    case Decision.Nothing(reason) =>
      journal.foreach(_.retract(entry))
      throw Errors.transactionsAborted(entry.batch, reason)
    case Decision.Open(pending, cause) => throw incomplete(entry.batch, pending, cause)
    case Decision.Partial(lost) => throw partial(entry.batch, lost)
  }

  /** Spark calls this also when [[commit]] has thrown: what is decided is never aborted. */
  def abort(batch: Long, tasks: Seq[TaskTransactions]): Unit =
    if (!decided.contains(batch) && !committed.contains(batch)) {
      fence(batch, tasks.flatMap(_.prepared))
      // Those of tasks that were killed when they had just ended, which Spark hands nobody.
      abortLeftovers(_.startsWith(name.ofRun))
    }

  private def fence(batch: Long, transactions: Seq[Prepared]): Unit =
    transactions.groupBy(_.cluster).foreach { case (id, ofCluster) =>
      try clusters.admin(id).fence(ofCluster.map(_.transactionalId))
      catch {
        case NonFatal(e) =>
          log.warn(
            s"Transactions of batch $batch on Kafka cluster '$id' could not be aborted: Kafka does it in the end",
            e
          )
      }
    }

  private def end(batch: Long, transactions: Seq[Prepared]): Decision = {
    val deadline = clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(commitTimeoutMs)
    if (steps.oneByOne)
      Decision.of(transactions.flatMap { transaction =>
        val outcome = committer.commit(Seq(transaction), deadline)
        steps.reached("between-commits", batch)
        outcome
      })
    else Decision.of(committer.commit(transactions, deadline))
  }

  private def checkAge(batch: Long, startedNanos: Long, timeoutMs: Long): Unit = {
    val ageMs = TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - startedNanos)
    if (ageMs > timeoutMs * TwoPhaseCommit.SafeShare)
      throw Errors.transactionsAborted(
        batch,
        s"its tasks took $ageMs ms, and a transaction lives $timeoutMs ms ('transaction.timeout.ms'): too little is " +
          "left to commit it safely."
      )
  }

  private def abortLeftovers(ours: String => Boolean): Unit = {
    val kept = journal.flatMap(_.newest()).toSeq.flatMap(_._1.transactions).map(t =>
      (t.cluster, t.transactionalId)
    ).toSet
    clusters.ids.foreach { cluster =>
      try {
        val admin = clusters.admin(cluster)
        val left = admin.open(id => ours(id) && !kept((cluster, id)))
        if (left.nonEmpty)
          log.info(s"Aborts transactions that were left on Kafka cluster '$cluster': ${left.mkString(", ")}")
        admin.fence(left)
      } catch {
        case NonFatal(e) =>
          log.warn(
            s"Transactions that were left on Kafka cluster '$cluster' cannot be looked for. Kafka aborts them after " +
              s"their time; until then they hold up readers with read_committed: $e"
          )
      }
    }
  }

  private def incomplete(batch: Long, pending: Seq[Prepared], cause: Throwable) =
    Errors.commitIncomplete(
      batch,
      pending.map(Decision.at).mkString("; "),
      s"${cause.getClass.getSimpleName}: ${cause.getMessage}",
      cause
    )

  private def partial(batch: Long, lost: Seq[(Prepared, String)]) =
    Errors.partialCommit(batch, lost.map { case (t, reason) => s"${Decision.at(t)}: $reason" }.mkString("; "))
}

private[sink] object TwoPhaseCommit {

  /** @param commitMs from the tasks' end to the last commit, with the journal */
  final case class Summary(transactions: Int, commitMs: Long)

  /** How old a transaction may be when it is decided to commit it: the rest of its time is for doing so. */
  val SafeShare = 0.5

  private val NotPlanned =
    "Spark has not logged what the batch reads before it was written, at 'checkpointLocation'. Either that is not the " +
      "checkpoint of the query, or the query runs in real-time mode, where a batch that fails is not made of the same again."

  /** Batches after which leftovers of earlier runs are looked for again. */
  private val Sweeps = 2
}
