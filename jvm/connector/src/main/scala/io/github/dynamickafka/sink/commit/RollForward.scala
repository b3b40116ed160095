package io.github.dynamickafka.sink.commit

import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.UnknownCommitPolicy
import io.github.dynamickafka.error.{DynamicKafkaRuntimeException, Errors}
import io.github.dynamickafka.sink.journal.{Claim, Journal, JournalEntry, LostParts}
import io.github.dynamickafka.sink.transaction.Prepared

/**
 * Completes the decision of an earlier run. Looks at all transactions before it ends one of them: as long as none is
 * committed, the batch can still be written again, which is better than to commit a part of it.
 *
 * @param deadline the time limit of a step that starts now, in nanoseconds
 */
private[commit] final class RollForward(
    inspector: Inspector,
    committer: Committer,
    markers: Markers,
    unknown: UnknownCommitPolicy,
    commits: DecisionCommits,
    deadline: () => Long
) {
  import RollForward._

  /**
   * Returns the parts of the batch that have to be written again; None: all of it is committed, or none of it.
   *
   * @param claim the claim of this run on the journal of the decision
   * @param mayDrop whether the whole batch may be written again, or belongs to no plan of the query
   */
  def apply(
      j: Journal,
      claim: Claim,
      entry: JournalEntry,
      mayReplay: Boolean,
      mayDrop: Boolean = true
  ): Option[LostParts] = {
    log.info(s"An earlier run decided batch ${entry.batch}, with ${entry.transactions.size} transactions")
    j.ending(claim)(complete(j, claim, entry, mayReplay, mayDrop))
  }

  private def complete(
      j: Journal,
      claim: Claim,
      entry: JournalEntry,
      mayReplay: Boolean,
      mayDrop: Boolean
  ): Option[LostParts] = {
    val (outcomes, inSync) = end(j, claim, entry)
    // Somebody may have resolved the decision meanwhile.
    j.checkClaim(claim)
    Decision.of(outcomes) match {
      case Decision.Done =>
        val committed = outcomes.collect { case (t, Outcome.Committed) => t }
        markers.await(committed, inSync, earlier = true, deadline()).foreach { cause =>
          throw incomplete(entry.batch, committed, cause)
        }
        j.finish(entry)
        None
      case nothing: Decision.Nothing if entry.round == 0 && mayDrop =>
        log.warn(
          s"Kafka aborted all transactions of batch ${entry.batch}, of which nothing is visible: its decision is dropped, as if " +
            s"it had not run: ${nothing.reason}"
        )
        j.retract(entry)
        None
      // Of a later round, nothing is committed, but other parts of the batch are; or Spark does not run the batch again.
      case Decision.Nothing(lost) =>
        if (!mayReplay) throw partial(entry.batch, lost)
        j.retract(entry)
        Some(repeat(j, entry, lost))
      case Decision.Open(pending, cause) => throw incomplete(entry.batch, pending, cause)
      case Decision.Unknown(which) => throw undetermined(entry.batch, which)
      case Decision.Partial(lost) =>
        if (!mayReplay) throw partial(entry.batch, lost)
        Some(repeat(j, entry, lost))
    }
  }

  private def end(
      j: Journal,
      claim: Claim,
      entry: JournalEntry
  ): (Seq[(Prepared, Outcome)], Map[String, Map[TopicPartition, Int]]) = {
    val deadline = this.deadline()
    // Parts of an earlier round are committed.
    val report =
      if (entry.round > 0) inspector.once(entry.transactions, entry.kafkaId)
      else inspector.await(entry.transactions, entry.kafkaId, deadline)
    j.checkClaim(claim)
    val outcomes = assumed(entry.batch, RecreatedTopics.sinceDecision(entry, report), unknown)
    val isVisible = entry.round > 0 || outcomes.exists(_._2 == Outcome.Committed)
    val (open, ended) = outcomes.partition(_._2 == Outcome.Open)
    val pending = ended.collect { case (t, p: Outcome.Pending) if !p.isLeaderless => t }
    val isPending = ended.exists(_._2.isInstanceOf[Outcome.Pending])
    val isLost = ended.exists(_._2.isInstanceOf[Outcome.Lost])
    val known =
      if (ended.exists(_._2.isInstanceOf[Outcome.Unknown])) ended
      else if (!isVisible && isPending) ended
      else if (!isVisible && isLost) ended ++ withdraw(claim, entry, open.map(_._1), deadline)
      else {
        val first = commits.commit(entry, open.map(_._1))
        val now = assumed(entry.batch, first ++ late(j, claim, entry, pending), unknown).toMap
        outcomes.map { case (t, before) => t -> now.getOrElse(t, before) }
      }
    known -> report.inSync
  }

  /** Those of clusters that have not answered: none is committed before it is known that none of its records are missing. */
  private def late(
      j: Journal,
      claim: Claim,
      entry: JournalEntry,
      pending: Seq[Prepared]
  ): Seq[(Prepared, Outcome)] =
    if (pending.isEmpty) Nil
    else {
      val seen =
        RecreatedTopics.sinceDecision(entry, inspector.await(pending, entry.kafkaId, deadline()))
      j.checkClaim(claim)
      val (open, ended) = seen.partition(_._2 == Outcome.Open)
      ended ++ commits.commit(entry, open.map(_._1))
    }

  private def withdraw(
      claim: Claim,
      entry: JournalEntry,
      open: Seq[Prepared],
      deadlineNanos: Long
  ): Seq[(Prepared, Outcome)] =
    if (entry.instance == claim.instance) committer.abort(open, entry.kafkaId, deadlineNanos)
    else open.map(_ -> Outcome.Lost("it belongs to another copy of the checkpoint"))

  private def repeat(j: Journal, entry: JournalEntry, lost: Seq[(Prepared, String)]): LostParts = {
    log.warn(s"Kafka aborted ${lost.size} transactions of batch ${entry.batch}, which are written again")
    LostParts.next(j.rounds(entry.batch), lost.map(_._1))
  }
}

private[commit] object RollForward {
  private val log = LoggerFactory.getLogger(classOf[RollForward])

  /** Replaces unknown outcomes by what the user has chosen to assume about them. */
  def assumed(
      batch: Long,
      outcomes: Seq[(Prepared, Outcome)],
      policy: UnknownCommitPolicy
  ): Seq[(Prepared, Outcome)] = outcomes.map {
    case (t, Outcome.Unknown(reason)) if policy != UnknownCommitPolicy.Fail =>
      val isCommitted = policy == UnknownCommitPolicy.AssumeCommitted
      log.warn(
        s"It is not known whether a transaction of batch $batch was committed, and assumed that it was " +
          s"${if (isCommitted) "committed" else "aborted"} ('unknownCommitPolicy'): ${Decision.at(t)}: $reason"
      )
      t -> (if (isCommitted) Outcome.Committed
            else Outcome.Lost(s"assumed by 'unknownCommitPolicy': $reason"))
    case other => other
  }

  def incomplete(batch: Long, pending: Seq[Prepared], cause: Throwable): DynamicKafkaRuntimeException =
    Errors.commitIncomplete(
      batch,
      pending.map(Decision.at).mkString("; "),
      s"${cause.getClass.getSimpleName}: ${cause.getMessage}",
      cause
    )

  def partial(batch: Long, lost: Seq[(Prepared, String)]): DynamicKafkaRuntimeException =
    Errors.partialCommit(batch, text(lost))

  def undetermined(batch: Long, unknown: Seq[(Prepared, String)]): DynamicKafkaRuntimeException =
    Errors.transactionUnknown(batch, text(unknown))

  private def text(transactions: Seq[(Prepared, String)]): String =
    transactions.map { case (t, reason) => s"${Decision.at(t)}: $reason" }.mkString("; ")
}
