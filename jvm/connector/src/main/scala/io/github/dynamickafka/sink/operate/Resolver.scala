package io.github.dynamickafka.sink.operate

import java.time.Instant

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.sink.commit.{
  Claim,
  Clusters,
  Committer,
  Inspector,
  Journal,
  JournalEntry,
  JournalJson,
  Markers,
  Note,
  Outcome,
  Prepared,
  TransactionPool
}

/** A resolution that is not possible; nothing is closed. */
private[dynamickafka] final class Refused(val reasons: Seq[String])
    extends RuntimeException(reasons.mkString("; "))

/**
 * Closes a decision that the query cannot complete.
 *
 * No step before the last one changes what a start of the query does: until the decision is marked as finished or deleted,
 * by one file, a start continues with what it finds in Kafka, as after any interruption. The claim is taken before the first
 * step, so that a run that was paused stops, and is checked before each later one, so that this stops if a run starts.
 *
 * @param watch waits for as long as a run that ends transactions may take to show itself
 */
private[sink] final class Resolver(
    journal: Journal,
    clusters: Clusters,
    pool: TransactionPool,
    clock: Clock,
    watch: () => Unit
) {
  private val committer = new Committer(clusters, pool, clock)
  private val markers = new Markers(clusters, pool, clock)

  /** @return the decision, and what has become of its transactions */
  def apply(batch: Long, how: Resolution, who: String): (JournalEntry, Seq[(Prepared, Outcome)]) = {
    val entry = open(batch)
    val there = entry.transactions.map(_.cluster).distinct.sorted
    how.cluster.filterNot(there.contains(_)).foreach(id =>
      refuse(s"batch $batch has no transaction on cluster '$id', only on ${there.mkString(", ")}")
    )
    refuseWhileRunning(entry)
    if (how == Resolution.Rewrite && journal.batches.isOver(batch))
      refuse(
        s"the query does not write batch $batch again, because Spark's logs have it as finished or have a later batch. First " +
          s"delete 'commits/$batch' and the later files of 'commits', and the files of 'offsets' after 'offsets/$batch'"
      )
    val claim = journal.takeOver(entry, s"resolve by $who")
    journal.ending(claim) {
      if (open(batch) != entry) refuse(s"a run of the query has decided batch $batch again")
      entry -> end(entry, claim, how, who)
    }
  }

  private def open(batch: Long): JournalEntry = journal.newest() match {
    case Some((entry, false)) if entry.batch == batch => entry
    case Some((entry, false)) =>
      refuse(s"the open decision is that of batch ${entry.batch}, not of batch $batch")
    case _ => refuse(s"batch $batch is not open: no decision of the journal is")
  }

  /** A run that ends transactions takes care of the decision itself, or fails and says so. */
  private def refuseWhileRunning(entry: JournalEntry): Unit = {
    val before = signs()
    watch()
    if (signs() != before) {
      val run = journal.owner().fold("a run")(claim => s"run '${claim.run}'")
      refuse(
        s"$run of the query is at work on batch ${entry.batch}. Wait until it has ended, or stop it, and keep it from being " +
          "started again"
      )
    }
  }

  private def signs() = {
    val owner = journal.owner()
    (owner, owner.flatMap(journal.beat))
  }

  private def end(
      entry: JournalEntry,
      claim: Claim,
      how: Resolution,
      who: String
  ): Seq[(Prepared, Outcome)] = {
    clusters.remember(entry)
    val report = committer.inspector.once(entry.transactions, entry.kafkaId)
    val note =
      Note(
        JournalJson.digest(entry),
        entry.generation,
        who,
        Instant.ofEpochMilli(clock.currentTimeMillis()).toString,
        how.name,
        how.cluster,
        closed = false,
        States.byId(report.outcomes)
      )
    journal.checkClaim(claim)
    // What earlier resolutions have given up stays given up.
    val abandoned = journal.notes(entry).flatMap(_.cluster).toSet
    ResolutionPlan.of(entry, how, report, abandoned, States.reason(clusters, _, _)) match {
      case Left(why) =>
        how.cluster.foreach(_ => journal.add(entry, note))
        throw new Refused(how.cluster.map(id => s"noted that cluster '$id' is given up, but").toSeq match {
          case Seq(noted) => why.map(w => s"$noted $w")
          case _ => why
        })
      case Right(plan) =>
        journal.add(entry, note)
        val ended = run(entry, report, plan)
        val left = ResolutionPlan.left(how, plan, ended)
        if (left.nonEmpty) throw new Refused(left)
        hidden(entry, report, plan, ended).foreach(refuse)
        journal.checkClaim(claim)
        if (how == Resolution.Rewrite) journal.retract(entry) else journal.finish(entry)
        journal.add(entry, note.copy(closed = true, states = States.byId(ended)), completes = true)
        ended
    }
  }

  /**
   * Why readers do not see what is committed, if they do not: a broker of Kafka 4 completes a transaction without the partitions that
   * have no leader. Commits there what it has left out.
   */
  private def hidden(
      entry: JournalEntry,
      report: Inspector.Report,
      plan: ResolutionPlan,
      ended: Seq[(Prepared, Outcome)]
  ): Option[String] = {
    val committed = ended.collect { case (t, Outcome.Committed) if !plan.abandoned(t.cluster) => t }
    markers.await(committed, report.inSync, earlier = true, clusters.deadline(clock)).map(cause =>
      s"batch ${entry.batch} is committed, but a part of it is not visible yet: ${cause.getMessage}. Repeat the resolution when " +
        "all partitions have leaders, or give the cluster up with --abandon-cluster"
    )
  }

  private def run(
      entry: JournalEntry,
      report: Inspector.Report,
      plan: ResolutionPlan
  ): Seq[(Prepared, Outcome)] = {
    val until = clusters.deadline(clock)
    val now = committer.commit(plan.commit, entry.kafkaId, until).toMap ++
      committer.abort(plan.abort, entry.kafkaId, until)
    report.outcomes.map { case (t, before) => t -> now.getOrElse(t, before) }
  }

  private def refuse(why: String): Nothing = throw new Refused(Seq(why))
}
