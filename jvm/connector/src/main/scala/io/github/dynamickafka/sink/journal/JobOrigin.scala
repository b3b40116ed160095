package io.github.dynamickafka.sink.journal

import io.github.dynamickafka.error.Errors

/**
 * Where the rows of a job are from. A job is known by its name, and its rows are discarded if a job of this name is written: only
 * if they are the same, as far as can be determined.
 *
 * @param query the id of the streaming query in whose `foreachBatch` the job runs
 * @param input what the checkpoint of that query has of its batch
 */
private[sink] final case class JobOrigin(query: Option[String], input: BatchInput) {
  import JobOrigin._

  def rows(count: Long): JobRows = JobRows(query, count)

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT if the decided rows are from elsewhere */
  def check(journal: Journal, decided: JournalEntry): Unit = decided.job.foreach { written =>
    if (written.query != query) conflict(
      journal,
      decided,
      s"its rows were those of ${text(written.query)}, and now they are those of ${text(query, isOther = true)}"
    )
    // The checkpoint of the query may not be known.
    if (decided.input != BatchInput.Empty && input != BatchInput.Empty)
      decided.input.difference(input).foreach(what =>
        conflict(journal, decided, s"the query has planned another batch since: $what")
      )
  }

  /** The same for the number of rows, which is known after the job. */
  def checkCount(journal: Journal, decided: JournalEntry, count: Long): Unit =
    decided.job.filter(_.rows != count).foreach(written =>
      conflict(journal, decided, s"it had ${written.rows} rows, and now it has $count rows")
    )
}

private[sink] object JobOrigin {

  private def conflict(journal: Journal, decided: JournalEntry, why: String): Nothing =
    throw Errors.journalConflict(
      journal.path,
      s"a job with the 'jobId' of this one is already written, but $why. The rows of this job are neither written nor " +
        "discarded. Use another 'jobId' for other rows: in 'foreachBatch', one with the id of the query and the number of the " +
        s"batch. If job '${decided.queryId}' must be written again, delete this folder: then all of its rows are written, also " +
        "those that are written already"
    )

  private def text(query: Option[String], isOther: Boolean = false): String =
    query.fold("no streaming query")(id =>
      s"${if (isOther) "another" else "a"} streaming query, '$id'"
    )
}
