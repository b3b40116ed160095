package io.github.dynamickafka.sink.commit

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.storage.PlannedDeferrals

/**
 * What the batches of a streaming query are made from, when their tasks start and when they are decided: both have to be equal.
 *
 * @param journal in the checkpoint of the query
 * @param plans what the sources of the query have left out of its batches
 */
private[sink] final class BatchPlans(journal: Journal, plans: PlannedDeferrals) {
  import BatchPlans._

  private val batches = journal.batches
  private var planned: Option[(Long, BatchInput)] = None

  /**
   * Called before the tasks of a batch are started, after they are planned. Another run may defer a part of the batch at any
   * time: then this batch is not what the other run has planned. Compared with the plan of this run, not with what the
   * checkpoint has when this is called, which may be what the other run has planned already.
   */
  def begin(): Unit = {
    def input(batch: Long) = batches.input(batch).map(found => batch -> batches.planned(batch, found, plans))
    // Usually the next one, which saves a listing.
    planned = planned.flatMap(last => input(last._1 + 1)).orElse(batches.last().flatMap(input))
  }

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException EXACTLY_ONCE_REFUSED, JOURNAL_CONFLICT */
  def decided(batch: Long): BatchInput = {
    val now = batches.input(batch).getOrElse(throw Errors.exactlyOnceRefused(NotPlanned))
    planned.flatMap { case (begun, input) =>
      if (begun == batch) input.difference(now)
      // The newest batch when the tasks started was another one: the plan of this batch was not compared.
      else Some(s"batch $begun was in the offset log when the tasks of batch $batch started")
    }.foreach(what =>
      throw Errors.journalConflict(
        journal.path,
        s"another run of the query has planned batch $batch while this run has written it: $what"
      )
    )
    now
  }
}

private object BatchPlans {
  private val NotPlanned =
    "the offset log at 'checkpointLocation' does not contain the batch: it is not the checkpoint of the query."
}

/**
 * Identifies the rows of a batch by the files in the checkpoint that define them, because a batch that is planned again
 * has the same number and may have other rows: the batch's file in Spark's offset log, and the deferrals of a source, which
 * leave ranges of these offsets out.
 *
 * @param digests SHA-256 of the content, by the path of the file in the checkpoint
 */
private[sink] final case class BatchInput(digests: Map[String, String]) {

  /** What differs in `now`, for an error message; None if both are equal. */
  def difference(now: BatchInput): Option[String] = {
    val differing = (digests.keySet ++ now.digests.keySet).toSeq.sorted
      .filter(file => digests.get(file) != now.digests.get(file))
    def shown(input: BatchInput, file: String) = input.digests.getOrElse(file, "no such file")
    Option.when(differing.nonEmpty)(
      differing.map(file =>
        s"'$file' had SHA-256 ${shown(this, file)} and now has ${shown(now, file)}"
      ).mkString(
        ", "
      )
    )
  }

  /** With this content of a file; None: without the file. */
  def having(file: String, text: Option[String]): BatchInput =
    BatchInput((digests - file) ++ text.map(file -> BatchInput.digest(_)))

  /** The files that only `now` has, for an error message; None if there are none. */
  def additions(now: BatchInput): Option[String] =
    Option((now.digests.keySet -- digests.keySet).toSeq.sorted.map(file => s"'$file'").mkString(", "))
      .filter(_.nonEmpty)
}

private[dynamickafka] object BatchInput {

  /** For a job, which has no offset log. */
  val Empty: BatchInput = BatchInput(Map.empty)

  /** @param contents by the path of the file in the checkpoint */
  def of(contents: (String, String)*): BatchInput =
    BatchInput(contents.map { case (file, text) => file -> digest(text) }.toMap)

  def digest(text: String): String =
    MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)).map(b => f"${b & 0xff}%02x").mkString
}
