package io.github.dynamickafka.sink.journal

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

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
