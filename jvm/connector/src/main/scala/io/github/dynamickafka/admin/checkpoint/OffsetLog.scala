package io.github.dynamickafka.admin.checkpoint

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.storage.AtomicFiles

/**
 * Spark's offset log and commit log in the checkpoint of a query. Only read.
 *
 * @param location a path that Hadoop's configuration can read
 */
private[admin] final class OffsetLog(location: String, hadoop: Configuration) {
  private val root = new Path(location)
  private val files = new AtomicFiles(root, hadoop)
  private val offsets = new Path(root, "offsets")
  private val commits = new Path(root, "commits")

  /** The folder that a source has in the checkpoint. */
  def folder(source: SourceId): Path = new Path(new Path(root, "sources"), source.name)

  /**
   * The numbers of all batches in the offset log, at least one.
   *
   * @throws Refusal if there is none
   */
  def logged: Seq[Long] = {
    if (!files.exists(offsets))
      throw new Refusal(s"$location is not a checkpoint of a streaming query: it has no folder 'offsets'")
    val found = numbers(offsets)
    if (found.isEmpty) throw new Refusal(s"$offsets is empty: the query has not planned a batch yet")
    found
  }

  def finished: Seq[Long] = numbers(commits)

  /** The entry of a batch, as it is written. */
  def text(number: Long): String = {
    val all = logged
    files.read(new Path(offsets, number.toString)).getOrElse(throw new Refusal(
      s"$location has no batch $number: its offset log has the batches ${all.head} to ${all.last}"
    ))
  }

  /** @throws Refusal if the log does not have the batch, or it has another format */
  def batch(number: Long): LoggedBatch =
    LoggedBatch.read(number, text(number), new Path(offsets, number.toString).toString)

  /** The batch that was logged last. */
  def newest: LoggedBatch = batch(logged.last)

  /**
   * The newest batch, which is finished: only then a checkpoint is edited or copied.
   *
   * @param query what messages call the query
   * @throws Refusal if a batch is not finished, with what to do
   */
  def newestFinished(query: String = "query"): LoggedBatch = {
    val again = OffsetLog.onceMore(query)
    val (planned, done) = (logged, finished)
    val unfinished = planned.filter(n => done.lastOption.forall(n > _))
    val problem =
      if (done.isEmpty) Some(
        s"nothing is committed in $location, which has planned batch ${planned.mkString(", ")}: $again"
      )
      else if (unfinished.size > 1) Some(
        s"batches ${unfinished.mkString(", ")} of $location are logged and not finished: $again. It must " +
          "not track its progress asynchronously"
      )
      else if (unfinished.nonEmpty)
        Some(s"batch ${planned.last} of $location is logged and not finished: $again")
      else if (planned.last != done.last) Some(
        s"batch ${done.last} of $location is committed, but the newest batch in 'offsets' is ${planned.last}: a part of the " +
          "checkpoint is lost"
      )
      else None
    problem.foreach(why => throw new Refusal(why))
    val commit = new Path(commits, planned.last.toString)
    val version = files.read(commit).fold("")(_.linesIterator.nextOption().fold("")(_.trim))
    if (!OffsetLog.CommitVersions.contains(version)) throw new Refusal(
      s"$commit: this release supports versions ${OffsetLog.CommitVersions.mkString(", ")} of Spark's commit log"
    )
    batch(planned.last)
  }

  /** @throws Refusal if records of the source are deferred, because the next batch has to read them */
  def refuseDeferred(source: SourceId, offset: CompositeOffset, batch: LoggedBatch): Unit = {
    val deferrals = new SourceCheckpoint(folder(source).toString, hadoop).deferrals.read()
    if (deferrals.all.values.exists(e => !e.entered && e.deferral.endsAt(offset))) throw new Refusal(
      s"records of batch ${batch.number} of $location are deferred, and not read yet: ${OffsetLog.onceMore("query")}"
    )
  }

  /**
   * @param ofKafka what is said of a query with Spark's own Kafka source
   * @throws Refusal if no source of this project has an offset in the batch
   */
  def composite(
      batch: LoggedBatch,
      ofKafka: String = "its query reads Spark's kafka source, from which 'migrate' moves it to this one"
  ): Seq[(SourceId, CompositeOffset)] = {
    val found = batch.composite
    if (found.isEmpty) throw new Refusal(
      s"batch ${batch.number} of $location has no offset of a dynamic-kafka source" +
        (if (batch.hasKafka) s": $ofKafka" else "")
    )
    found
  }

  private def numbers(folder: Path) =
    files.names(folder).filter(_.matches("\\d{1,18}")).map(_.toLong).sorted
}

private[admin] object OffsetLog {
  private val CommitVersions = Seq("v1", "v2", "v3")

  /** What to do about a batch that is not finished. */
  private def onceMore(query: String) =
    s"start the $query once more, with availableNow, and repeat the command when it has ended"
}
