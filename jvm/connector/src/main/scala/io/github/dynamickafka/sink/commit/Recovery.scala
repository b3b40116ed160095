package io.github.dynamickafka.sink.commit

import io.github.dynamickafka.error.Errors

/**
 * What a start does about earlier decisions, before its first batch.
 *
 * @param written the decision about a batch that is committed, and that Spark runs again: its rows are discarded
 * @param replay the parts of a batch that Spark runs again that are written again
 */
private[commit] final case class Recovered(written: Option[JournalEntry], replay: Option[LostParts])

/**
 * Completes the decisions of earlier runs and jobs, and compares what they are about with what Spark has planned since: only then
 * a batch with the same number is the one that is written. The journal of a job is new, and has no decision yet.
 *
 * @param earlier journals of earlier jobs
 */
private[commit] final class Recovery(
    claim: Claim,
    journal: Journal,
    earlier: Seq[Journal],
    clusters: Clusters,
    rollForward: RollForward,
    replayLost: Boolean
) {
  import Recovery._

  def apply(): Recovered = {
    earlier.foreach(completeOther)
    own(journal)
  }

  private def completeOther(j: Journal): Unit = {
    j.newest().filterNot(_._2).foreach { case (entry, _) =>
      // The earlier job detects this, if it still runs.
      val taken = j.claim(entry.queryId, claim.run)
      clusters.remember(entry)
      // A lost part of another job cannot be written again: this job has other rows.
      val _ = rollForward(j, taken, entry, Rerun.OfAnotherJob)
    }
    j.delete()
  }

  private def own(j: Journal): Recovered = {
    val last = j.newest()
    val lost = last.filterNot(_._2).flatMap { case (entry, _) =>
      clusters.remember(entry)
      if (isFinished(j, entry)) {
        j.finish(entry)
        None
      } else {
        // What is decided is committed even if the query has another plan by now; but its rows are not used for the rest.
        rollForward(j, claim, entry, rerun(j, entry)).filter(_ => isRunAgain(j, entry))
      }
    }
    // A run that was paused may write its decision only now: it is not committed, and is dropped when this run decides.
    val written =
      if (lost.isDefined) None else last.filter(_._2).orElse(j.newest().filter(_._2)).map(_._1)
    written.foreach(clusters.remember)
    Recovered(written.filter(isRunAgain(j, _)), lost)
  }

  /**
   * Whether Spark has logged the end of a later batch, before which the decision was marked: the mark is lost. The end of this batch
   * alone does not show that all of it is committed, because somebody may have made the file by hand. Nor does the end of another plan:
   * a run that was paused may have decided a batch of which a later run has deferred all records, and has decided nothing.
   */
  private def isFinished(j: Journal, entry: JournalEntry): Boolean =
    isPlanned(j, entry) && j.batches.finished().exists(_ > entry.batch)

  /** Whether the decision is about the batch that Spark has logged. */
  private def isPlanned(j: Journal, entry: JournalEntry): Boolean =
    j.batches.input(entry.batch).exists(entry.input.difference(_).isEmpty)

  private def rerun(j: Journal, entry: JournalEntry): Rerun =
    if (!j.batches.isOver(entry.batch)) Rerun.Of(replayLost)
    else Rerun.None(isPlanned(j, entry))

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT if the plan is another one */
  private def isRunAgain(j: Journal, entry: JournalEntry): Boolean = {
    def conflict(why: String) = throw Errors.journalConflict(
      j.path,
      s"according to the journal, batch ${entry.batch} is decided, but $why. $OlderPlan"
    )
    val last = j.batches.last()
    if (!last.exists(_ >= entry.batch))
      conflict(
        s"the offset log of the query ${last.fold("is empty")(n => s"ends with batch $n")}: a part of the checkpoint is older " +
          "than the rest"
      )
    val repeated = last.contains(entry.batch)
    val now = j.batches.input(entry.batch)
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
}

private[commit] object Recovery {
  private val OlderPlan =
    "If only a file in a folder 'deferred' is new, delete that file: the batch was written with all its records. Otherwise " +
      "restore the checkpoint as a whole. If this is not possible: after the files of this batch in the journal are deleted, " +
      "the query continues from its offset log and loses nothing, but writes records again that the journal's batch and its " +
      "own batches have in common."
}
