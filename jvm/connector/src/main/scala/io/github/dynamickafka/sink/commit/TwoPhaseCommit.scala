package io.github.dynamickafka.sink.commit

import java.util.concurrent.{ExecutorService, TimeUnit}

import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

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
 * @param ids the transactional ids of this run
 * @param earlier journals of earlier jobs; None: a streaming query, with the journal in its checkpoint
 * @param plans what the sources of the query have left out of its batches
 * @param marking the executor of what is written while Spark logs the end of a batch
 */
private[sink] final class TwoPhaseCommit(
    ids: TransactionalIds,
    context: CommitContext,
    earlier: Option[Seq[Journal]],
    plans: PlannedDeferrals,
    marking: ExecutorService = Clusters.threads
) {
  import TwoPhaseCommit.{CloseMs, log}
  import context._

  private val isStreaming = earlier.isEmpty
  private val decisions = new Decisions(context, Option.when(isStreaming)(marking))
  private val leftovers = new Leftovers(() => name, context)

  private var written: Option[JournalEntry] = None
  private var repeating: Option[LostParts] = None
  private var committed: Option[Long] = None
  private var decided: Option[Long] = None
  private var last = TwoPhaseCommit.Summary(0, 0L)

  /** The summary of the last committed batch. */
  def summary: TwoPhaseCommit.Summary = last

  /** The batch whose writers discard their rows: it is committed, and Spark runs it again or has just finished it. */
  def lastCommitted: Option[Long] = committed

  /** The parts of the next batch that must be written, if not the whole batch. */
  def replay: Option[LostParts] = repeating

  /** The transactional ids of the tasks, after [[recover]]. */
  def name: TransactionName = ids.name

  /** A cluster that was not asked for leftovers responds again. */
  def sweepAgain(): Unit = leftovers.again()

  /** Called before the first batch: completes or aborts the transactions of earlier runs. */
  def recover(): Unit = {
    val (found, replay) = new Recovery(context, decisions)(earlier.toSeq.flatten)
    written = found
    repeating = replay
    committed = written.map(_.batch)
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
  ): Unit = {
    if (committed.contains(batch)) {
      // Rows are only discarded if they are those that are written. Another run may have started meanwhile, and have decided only a
      // part of what this run has planned.
      if (written.exists(_.batch == batch)) {
        journal.checkClaim(claim)
        val _ = inputOf(batch)
      }
    } else unlessReplaced {
      val from = clock.nanoTime()
      val transactions = tasks.flatMap(_.prepared)
      val again = repeating.filter(_.batch == batch)
      again.flatMap(_.difference(tasks)).foreach(why => throw Errors.replayDiffers(batch, why))
      if (transactions.nonEmpty) {
        decisions.checkAge(batch, tasks, startedNanos, timeoutMs)
        probe.reached(CommitStep.BeforeDecision, batch)
        journal.checkClaim(claim)
        val input = inputOf(batch)
        val report = decisions.checkOpen(batch, transactions)
        decisions.checkAge(batch, tasks, startedNanos, timeoutMs)
        val known = transactions.map(_.cluster).distinct.map { id =>
          val seen = report.seen.get(id)
          val topicIds = seen.fold(Map.empty[String, String])(_.topicIds)
          id -> JournalCluster(seen.flatMap(_.clusterId), clusters.safe(id), topicIds)
        }
        val entry = JournalEntry(
          claim.queryId,
          claim.run,
          claim.instance,
          claim.generation,
          batch,
          again.fold(0)(_.round),
          input,
          transactions,
          known.toMap,
          leftOut
        )
        decisions.decide(entry)(mayBe => decided = Option.when(mayBe)(batch))
        // From here on, other runs can see the decision, so the batch must not be aborted.
        decided = Some(batch)
        decisions.finish(entry, report.inSync)
      }
      last =
        TwoPhaseCommit.Summary(transactions.size, TimeUnit.NANOSECONDS.toMillis(clock.nanoTime() - from))
      committed = Some(batch)
      repeating = None
      // An attempt that was not accepted may have left an open transaction, which blocks consumers with read_committed until
      // its timeout.
      leftovers.afterBatch(transactions.map(_.cluster).toSet, secondAttempts || tasks.exists(_.retried))
    }
    ids.ended(tasks.flatMap(_.prepared).headOption.map(_.cluster), tasks.forall(!_.retried))
  }

  /** A later run aborts the transactions of this one, if it was taken for dead: then a longer time-out does not help. */
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

  /** The run is over. */
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

  /** @param commitMs the time from the end of the tasks to the last commit, including the journal, in milliseconds */
  final case class Summary(transactions: Int, commitMs: Long)
}
