package io.github.dynamickafka.sink.commit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors

/**
 * Completes the decisions of earlier runs and jobs, and compares their input with Spark's plan: a batch with the same number may
 * be another one. The journal of a job is new, and has no decision yet. Called by a start before its first batch.
 */
private[commit] final class Recovery(context: CommitContext, decisions: Decisions) {
  import Recovery._
  import context._
  import decisions.committer

  private val batches = journal.batches

  /**
   * @return the decision about a committed batch that Spark runs again, whose rows are discarded; and the lost parts of a batch,
   *         which are written again
   */
  def apply(earlier: Seq[Journal]): (Option[JournalEntry], Option[LostParts]) = {
    earlier.foreach(completeOther)
    val last = journal.newest()
    val lost = last.filterNot(_._2).flatMap { case (entry, _) =>
      clusters.remember(entry)
      if (isFinished(entry)) {
        journal.finish(entry)
        None
      } else {
        // What is decided is committed even if the query has another plan by now; but its rows are not used for the rest.
        rollForward(entry).filter(_ => isRunAgain(entry))
      }
    }
    // A run that was paused may write its decision only now: it is not committed, and is dropped when this run decides.
    val written =
      if (lost.isDefined) None else last.filter(_._2).orElse(journal.newest().filter(_._2)).map(_._1)
    written.foreach(clusters.remember)
    (written.filter(isRunAgain), lost)
  }

  private def completeOther(job: Journal): Unit = {
    job.open().foreach { entry =>
      // The earlier job detects this, if it still runs.
      val taken = job.claim(entry.claim.queryId, claim.run)
      clusters.remember(entry)
      val _ = new Recovery(context.copy(claim = taken, journal = job), decisions)
        .rollForward(
          entry,
          // A lost part of another job cannot be written again: this job has other rows.
          mayReplay = false,
          mayDrop = true,
          "It is a batch of an earlier job, whose rows this job does not have. To continue without the missing parts, delete the " +
            s"directory '${job.path}'; to write the rows of that job again, run it again afterwards."
        )
    }
    job.delete()
  }

  /**
   * Whether Spark has logged the end of a later batch, before which the decision was marked: the mark is lost. The end of this batch
   * alone does not show that all of it is committed, because somebody may have made the file by hand. Nor does the end of another plan:
   * a run that was paused may have decided a batch of which a later run has deferred all records, and has decided nothing.
   */
  private def isFinished(entry: JournalEntry): Boolean =
    isPlanned(entry) && batches.finished().exists(_ > entry.batch)

  /** Whether the decision is about the batch that Spark has logged. */
  private def isPlanned(entry: JournalEntry): Boolean =
    batches.input(entry.batch).exists(entry.input.difference(_).isEmpty)

  private def rollForward(entry: JournalEntry): Option[LostParts] =
    if (batches.isOver(entry.batch)) rollForward(
      entry,
      mayReplay = false,
      mayDrop = !isPlanned(entry),
      s"Spark does not run batch ${entry.batch} again, because its logs have this batch as finished or a later one, as after a file " +
        s"'commits/${entry.batch}' was made by hand. To write the whole batch again, and accept duplicates of the committed part, " +
        s"delete 'commits/${entry.batch}' and the later files of 'commits', then the files of 'offsets' after " +
        s"'offsets/${entry.batch}', then the files '${entry.batch}-*' in '${journal.path}'. To continue without the missing parts, " +
        "close the batch with 'python -m dynamic_kafka resolve' and '--accept-loss'."
    )
    else rollForward(entry, options.replayLost, mayDrop = true, remedy(entry.batch, journal.path))

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT if the plan is another one */
  private def isRunAgain(entry: JournalEntry): Boolean = {
    def conflict(why: String) = throw Errors.journalConflict(
      journal.path,
      s"according to the journal, batch ${entry.batch} is decided, but $why. $OlderPlan"
    )
    val last = batches.last()
    if (!last.exists(_ >= entry.batch))
      conflict(
        s"the offset log of the query ${last.fold("is empty")(n => s"ends with batch $n")}: a part of the checkpoint is older " +
          "than the rest"
      )
    val repeated = last.contains(entry.batch)
    val now = batches.input(entry.batch)
    if (repeated)
      entry.input.difference(now.getOrElse(BatchInput.Empty)).foreach(what =>
        conflict(s"the query has planned another batch with this number: $what")
      )
    else
      // One of two runs may defer a part of the batch while the other one decides all of it. The next batch has the part again.
      now.flatMap(entry.input.additions).foreach(what =>
        throw Errors.journalConflict(
          journal.path,
          s"batch ${entry.batch} is written with all its records, but records of the batch are deferred: $what. Delete these " +
            s"files, and in the offset log of the query the files of later batches, from 'offsets/${entry.batch + 1}' on: " +
            "otherwise the next batch writes these records again"
        )
      )
    repeated
  }

  /**
   * Completes the decision of an earlier run. Looks at all transactions before it ends one of them: as long as none is
   * committed, the batch can still be written again, which is better than to commit a part of it.
   *
   * @param mayReplay whether what is lost may be written again: the rows of the batch are there once more
   * @param mayDrop whether the decision may be dropped if nothing is committed: the batch is written again, or belongs to no plan of
   *                the query
   * @return the parts of the batch that have to be written again; None: all of it is committed, or none of it
   */
  private def rollForward(
      entry: JournalEntry,
      mayReplay: Boolean,
      mayDrop: Boolean,
      remedy: String
  ): Option[LostParts] = {
    log.info(s"An earlier run decided batch ${entry.batch}, with ${entry.transactions.size} transactions")
    journal.ending(claim) {
      // Parts of an earlier round are committed, so that none is waited for.
      val report =
        if (entry.round > 0) committer.inspect(entry.transactions, entry.kafkaId)
        else committer.awaitStates(entry.transactions, entry.kafkaId)
      journal.checkClaim(claim)
      val outcomes = end(entry, report)
      // Somebody may have resolved the decision meanwhile.
      journal.checkClaim(claim)
      val lost = decisions.lost(entry, outcomes, report.inSync, earlier = true)
      val isNothing = lost.nonEmpty && lost.size == outcomes.size
      if (lost.isEmpty) {
        journal.finish(entry)
        None
      } else if (isNothing && entry.round == 0 && mayDrop) {
        log.warn(
          s"Kafka aborted all transactions of batch ${entry.batch}, of which nothing is visible: its decision is dropped, as if " +
            s"it had not run: ${Decisions.text(lost.take(1))}"
        )
        journal.retract(entry)
        None
      } else {
        // In a later round, no transaction is committed, but other parts of the batch are. Otherwise, Spark does not run the batch again.
        if (!mayReplay) throw Errors.partialCommit(entry.batch, Decisions.text(lost), remedy)
        if (isNothing) journal.retract(entry)
        log.warn(s"Kafka aborted ${lost.size} transactions of batch ${entry.batch}, which are written again")
        Some(LostParts.next(journal.rounds(entry.batch), lost.map(_._1)))
      }
    }
  }

  /** Ends the transactions, as far as all of them are committed or none is. */
  private def end(entry: JournalEntry, report: Inspection): Seq[(Prepared, Outcome)] = {
    val outcomes = decisions.assumed(entry.batch, report.ifNotRecreated(entry.topicIds))
    // Parts of an earlier round are committed.
    val isVisible = entry.round > 0 || outcomes.exists(_._2 == Outcome.Committed)
    val (open, ended) = outcomes.partition(_._2 == Outcome.Open)
    val isPending = ended.exists(_._2.isInstanceOf[Outcome.Pending])
    if (ended.exists(_._2.isInstanceOf[Outcome.Unknown]) || !isVisible && isPending) ended
    else if (!isVisible && ended.exists(_._2.isInstanceOf[Outcome.Lost]))
      ended ++ (
        if (entry.claim.instance == claim.instance) committer.abort(open.map(_._1), entry.kafkaId)
        else open.map(_._1 -> Outcome.Lost("it belongs to another copy of the checkpoint"))
      )
    else {
      val pending = ended.collect { case (t, p: Outcome.Pending) if !p.isLeaderless => t }
      val now = (decisions.commit(entry, open.map(_._1)) ++ late(entry, pending)).toMap
      outcomes.map { case (t, before) => t -> now.getOrElse(t, before) }
    }
  }

  /** The transactions of clusters that have not answered: none is committed before it is known that none of its records are missing. */
  private def late(entry: JournalEntry, pending: Seq[Prepared]): Seq[(Prepared, Outcome)] =
    if (pending.isEmpty) Nil
    else {
      val report = committer.awaitStates(pending, entry.kafkaId)
      journal.checkClaim(claim)
      val (open, ended) = report.ifNotRecreated(entry.topicIds).partition(_._2 == Outcome.Open)
      ended ++ decisions.commit(entry, open.map(_._1))
    }
}

private[commit] object Recovery {
  private val log = LoggerFactory.getLogger(classOf[Recovery])

  private val OlderPlan =
    "If only a file in a folder 'deferred' is new, delete that file: the batch was written with all its records. Otherwise " +
      "restore the checkpoint as a whole. If this is not possible: after the files of this batch in the journal are deleted, " +
      "the query continues from its offset log and loses nothing, but writes records again that the journal's batch and its " +
      "own batches have in common."

  /** The remedy for a batch whose rows are there once more. */
  def remedy(batch: Long, journal: String): String =
    "To write only the missing parts again, set 'partialCommitPolicy' to 'replay-lost-partitions', provided that each run of a batch " +
      "gives every task the same rows. To write the whole batch again, and accept duplicates of the committed part, delete the files " +
      s"'$batch-*' in '$journal'."
}

/**
 * The parts of a batch that must be written again, because Kafka aborted them after the decision, while others are
 * committed.
 *
 * @param lost the number of records of the aborted parts, by (task, cluster)
 * @param kept the number of records of the committed parts, by (task, cluster)
 */
private[sink] final case class LostParts(
    batch: Long,
    round: Int,
    lost: Map[(Int, String), Long],
    kept: Map[(Int, String), Long],
    leftOut: Set[String] = Set.empty
) {
  def writes(partition: Int, cluster: String): Boolean = lost.contains((partition, cluster))

  /** The difference between the rows of these tasks and of the first ones; None if their numbers are equal. */
  def difference(tasks: Seq[TaskTransactions]): Option[String] = {
    val written = tasks.flatMap(_.prepared).map(t => (t.partition, t.cluster) -> t.rows).toMap
    val withheld =
      tasks.flatMap(t => t.withheld.map { case (cluster, rows) => (t.partition, cluster) -> rows })
    def compare(what: Map[(Int, String), Long], now: Map[(Int, String), Long]) =
      (what.keySet ++ now.keySet).toSeq.sorted.find(k => what.get(k) != now.get(k)).map {
        case k @ (task, cluster) =>
          s"task $task has ${now.getOrElse(k, 0L)} records for cluster '$cluster', but had ${what.getOrElse(k, 0L)} before."
      }
    compare(lost, written).orElse(compare(kept, withheld.toMap))
  }
}

private[sink] object LostParts {

  /** @param rounds all decisions of the batch so far; of the last one, `lost` is lost */
  def next(rounds: Seq[JournalEntry], lost: Seq[Prepared]): LostParts = {
    val last = rounds.last
    def places(ts: Seq[Prepared]) = ts.map(t => (t.partition, t.cluster) -> t.rows).toMap
    val gone = places(lost)
    LostParts(
      last.batch,
      last.round + 1,
      gone,
      places(rounds.flatMap(_.transactions)) -- gone.keySet,
      last.leftOut
    )
  }
}

/**
 * Aborts transactions that nothing will commit, so that consumers with isolation level read_committed do not wait for
 * their timeout. Errors are logged.
 *
 * Transactions of this run are always aborted, because no other run could decide them. Transactions of earlier runs on the same
 * journal are aborted while no later run has claimed it, because a later run may commit what an earlier run decided. Transactions of
 * later runs are never aborted.
 */
private[commit] final class Leftovers(names: () => TransactionName, context: CommitContext) {
  import Leftovers._
  import context.{claim, clusters, journal}

  // After how many batches each cluster is still searched for what earlier runs have left, and all of them for what this run has.
  private var ofEarlier = Map.empty[String, Int]
  private var own = 0

  // Clusters that have not answered: each search would wait for them. They are searched when they have committed a batch.
  private var silent = Set.empty[String]
  private var known = clusters.ids.toSet

  def ofEarlierRuns(): Unit = search(asked, isOwn = false)

  def ofThisRun(): Unit = {
    // A cluster that is back may have been written to by the batch that has failed.
    silent &= known
    search(asked, isOwn = true)
  }

  /**
   * An executor of an earlier run, or an attempt that lost, may have opened transactions since the last search: Spark does not
   * wait for their end.
   */
  def afterBatch(committed: Set[String], hasRetried: Boolean): Unit = {
    clusters.wrote(committed)
    val ids = clusters.ids.toSet
    // A cluster that is new, was left out, or has not answered before.
    val back = (ids -- known) ++ (silent & committed)
    known = ids
    // This run can have left something only where it has searched before.
    if (hasRetried || back.exists(ofEarlier.contains)) own = Searches
    silent --= back
    ofEarlier --= back
    if (own > 0) {
      own -= 1
      ofThisRun()
    }
    val due = asked.filter(ofEarlier.getOrElse(_, Searches) > 0)
    due.foreach(id => ofEarlier += id -> (ofEarlier.getOrElse(id, Searches) - 1))
    search(due, isOwn = false)
  }

  private def asked = clusters.ids.filterNot(silent)

  /** Aborts transactions of this run that are not decided. */
  def abort(batch: Long, transactions: Seq[Prepared]): Unit = {
    val byCluster = transactions.groupMap(_.cluster)(_.transactionalId)
    val _ = clusters.each(byCluster.toSeq.sortBy(_._1)) { case (id, ids) =>
      guarded(s"Transactions of batch $batch on Kafka cluster '$id' could not be aborted")(
        clusters.admin(id).fence(ids)
      )
    }
  }

  /** Searches all clusters at once, because one that does not respond takes as long as a request may take. */
  private def search(ids: Seq[String], isOwn: Boolean): Unit = {
    def isLeft(id: String) = names().isOwn(id) == isOwn && (isOwn || names().isOfEarlier(id))
    silent ++= clusters.each(ids) { cluster =>
      val hasAnswered =
        guarded(s"Searching for transactions that are left open on Kafka cluster '$cluster' failed") {
          // Read again for each cluster: what is decided meanwhile must be kept.
          val kept = journal.newest().toSeq.flatMap(_._1.transactions).map(_.transactionalId).toSet
          val left = clusters.ask(cluster)(_.open(id => isLeft(id) && !kept(id)))
          if (left.nonEmpty) {
            // This driver may have been paused since it claimed the journal.
            if (!isOwn) journal.checkClaim(claim)
            log.info(
              s"Aborting transactions that are left open on Kafka cluster '$cluster': ${left.mkString(", ")}"
            )
            clusters.admin(cluster).fence(left)
          }
        }
      cluster -> hasAnswered
    }.collect { case (id, false) => id }
  }

  private def guarded(failed: String)(body: => Unit): Boolean =
    try {
      body
      true
    } catch {
      case NonFatal(e) =>
        log.warn(
          s"$failed. Kafka aborts them after their timeout; until then they block consumers with isolation level " +
            s"read_committed: $e"
        )
        false
    }
}

private[commit] object Leftovers {
  private val log = LoggerFactory.getLogger(classOf[Leftovers])

  /** The searches of a cluster after what may have left something. */
  private val Searches = 2
}
