package io.github.dynamickafka.sink.commit

import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.UnknownCommitPolicy
import io.github.dynamickafka.error.{DynamicKafkaRuntimeException, Errors}

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
   * @param rerun whether what Kafka has aborted can be written again
   */
  def apply(j: Journal, claim: Claim, entry: JournalEntry, rerun: Rerun): Option[LostParts] = {
    log.info(s"An earlier run decided batch ${entry.batch}, with ${entry.transactions.size} transactions")
    j.ending(claim)(complete(j, claim, entry, rerun))
  }

  private def complete(j: Journal, claim: Claim, entry: JournalEntry, rerun: Rerun): Option[LostParts] = {
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
      case nothing: Decision.Nothing if entry.round == 0 && rerun.mayDrop =>
        log.warn(
          s"Kafka aborted all transactions of batch ${entry.batch}, of which nothing is visible: its decision is dropped, as if " +
            s"it had not run: ${nothing.reason}"
        )
        j.retract(entry)
        None
      // Of a later round, nothing is committed, but other parts of the batch are; or Spark does not run the batch again.
      case Decision.Nothing(lost) =>
        if (!rerun.mayReplay) throw partial(entry.batch, lost, rerun.remedy(entry.batch, j.path))
        j.retract(entry)
        Some(repeat(j, entry, lost))
      case Decision.Open(pending, cause) => throw incomplete(entry.batch, pending, cause)
      case Decision.Unknown(which) => throw undetermined(entry.batch, which)
      case Decision.Partial(lost) =>
        if (!rerun.mayReplay) throw partial(entry.batch, lost, rerun.remedy(entry.batch, j.path))
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

  def partial(batch: Long, lost: Seq[(Prepared, String)], remedy: String): DynamicKafkaRuntimeException =
    Errors.partialCommit(batch, text(lost), remedy)

  def undetermined(batch: Long, unknown: Seq[(Prepared, String)]): DynamicKafkaRuntimeException =
    Errors.transactionUnknown(batch, text(unknown))

  private def text(transactions: Seq[(Prepared, String)]): String =
    transactions.map { case (t, reason) => s"${Decision.at(t)}: $reason" }.mkString("; ")
}

/** Whether the rows of a decided batch are there once more, of which Kafka has aborted transactions. */
private[commit] sealed trait Rerun {

  /** Whether what is lost may be written again. */
  def mayReplay: Boolean

  /** Whether the decision may be dropped if nothing is committed: the batch is written again, or belongs to no plan of the query. */
  def mayDrop: Boolean

  /** What a user can do about a batch that is committed in part. */
  def remedy(batch: Long, journal: String): String
}

private[commit] object Rerun {

  /** Spark runs the batch again. */
  final case class Of(mayReplay: Boolean) extends Rerun {
    def mayDrop: Boolean = true
    def remedy(batch: Long, journal: String): String = Rerun.remedy(batch, journal)
  }

  /** Spark has finished the batch, or planned a later one. */
  final case class None(isPlanned: Boolean) extends Rerun {
    def mayReplay: Boolean = false
    def mayDrop: Boolean = !isPlanned
    def remedy(batch: Long, journal: String): String =
      s"Spark does not run batch $batch again, because its logs have this batch as finished or a later one, as after a file " +
        s"'commits/$batch' was made by hand. To write the whole batch again, and accept duplicates of the committed part, delete " +
        s"'commits/$batch' and the later files of 'commits', then the files of 'offsets' after 'offsets/$batch', then the files " +
        s"'$batch-*' in '$journal'. To continue without the missing parts, close the batch with 'python -m dynamic_kafka resolve' " +
        "and '--accept-loss'."
  }

  /** The decision is that of an earlier job, and this job has other rows. */
  case object OfAnotherJob extends Rerun {
    def mayReplay: Boolean = false
    def mayDrop: Boolean = true
    def remedy(batch: Long, journal: String): String =
      "It is a batch of an earlier job, whose rows this job does not have. To continue without the missing parts, delete the " +
        s"directory '$journal'; to write the rows of that job again, run it again afterwards."
  }

  /** Of a batch whose rows are there once more. */
  def remedy(batch: Long, journal: String): String =
    "To write only the missing parts again, set 'partialCommitPolicy' to 'replay-lost-partitions', provided that each run of a batch " +
      "gives every task the same rows. To write the whole batch again, and accept duplicates of the committed part, delete the files " +
      s"'$batch-*' in '$journal'."
}
