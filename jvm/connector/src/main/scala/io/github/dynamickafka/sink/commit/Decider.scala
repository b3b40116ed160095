package io.github.dynamickafka.sink.commit

import java.io.IOException

import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.UnknownCommitPolicy
import io.github.dynamickafka.error.Errors

/** Writes decisions of this run to its journal. */
private[commit] final class Decider(
    journal: Journal,
    claim: Claim,
    clusters: Clusters,
    committer: Committer,
    inspector: Inspector,
    probe: CommitProbe,
    deadline: () => Long
) {
  private val log = LoggerFactory.getLogger(classOf[Decider])

  /** @param isDecided called if writing fails: whether the decision may be there */
  def decide(entry: JournalEntry)(isDecided: Boolean => Unit): Unit = {
    journal.checkClaim(claim)
    probe.reached(CommitStep.Claimed, entry.batch)
    dropStale(entry)
    write(entry)(isDecided)
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
      // Those of another instance of the journal belong to a copy of the query.
      val ended =
        if (stale.instance == claim.instance) committer.abort(stale.transactions, stale.kafkaId, deadline())
        else inspector.once(stale.transactions, stale.kafkaId).outcomes
      ended.collectFirst { case (t, Outcome.Committed) => t }.foreach { t =>
        throw Errors.journalConflict(
          journal.path,
          s"run '${stale.run}' of the query has committed a part of batch ${stale.batch}: ${Decision.at(t)}"
        )
      }
      journal.retract(stale)
    }

  /** A failed write may have been effective: if this cannot be determined, nothing is aborted. */
  private def write(entry: JournalEntry)(isDecided: Boolean => Unit): Unit =
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
 * Commits the transactions of a decision.
 *
 * @param marks None: decisions are marked as finished before the commit returns, because Spark logs nothing afterwards
 * @param deadline the time limit of a step that starts now, in nanoseconds
 */
private[commit] final class DecisionCommits(
    claim: Claim,
    journal: Journal,
    marks: Option[DoneMarks],
    committer: Committer,
    markers: Markers,
    unknown: UnknownCommitPolicy,
    probe: CommitProbe,
    deadline: () => Long
) {

  /** Commits what this run has just decided. */
  def finish(entry: JournalEntry, inSync: Map[String, Map[TopicPartition, Int]]): Unit =
    journal.ending(claim)(complete(entry, inSync))

  private def complete(entry: JournalEntry, inSync: Map[String, Map[TopicPartition, Int]]): Unit = {
    // A run that started meanwhile either has seen the decision and commits it, or has written its claim before the
    // decision and may be aborting these transactions. In the second case, none of them may be committed.
    journal.checkClaim(claim)
    probe.reached(CommitStep.Decided(entry.transactions), entry.batch)
    Decision.of(RollForward.assumed(entry.batch, commit(entry, entry.transactions), unknown)) match {
      case Decision.Done =>
        markers.await(entry.transactions, inSync, earlier = false, deadline()).foreach { cause =>
          throw RollForward.incomplete(entry.batch, entry.transactions, cause)
        }
        probe.reached(CommitStep.Committed, entry.batch)
        marks.fold(journal.finish(entry))(_.begin(entry))
      case nothing: Decision.Nothing =>
        journal.retract(entry)
        throw if (entry.round == 0) Errors.transactionsAborted(entry.batch, nothing.reason)
        else partial(entry, nothing.lost)
      case Decision.Open(pending, cause) => throw RollForward.incomplete(entry.batch, pending, cause)
      case Decision.Unknown(which) => throw RollForward.undetermined(entry.batch, which)
      case Decision.Partial(lost) => throw partial(entry, lost)
    }
  }

  private def partial(entry: JournalEntry, lost: Seq[(Prepared, String)]) =
    RollForward.partial(entry.batch, lost, Rerun.remedy(entry.batch, journal.path))

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
}
