package io.github.dynamickafka.sink.commit

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.storage.AtomicFiles

/**
 * The decisions of a query, in its checkpoint. A file is there whole or not at all, and is never written over: of two
 * queries that decide the same batch, one fails.
 *
 * `<batch>-<round>.json` is a decision; beside it, `<batch>-<round>.done` says that everything of it is committed.
 *
 * @param location of the checkpoint
 */
private[sink] final class Journal(location: String, hadoop: Configuration) {
  import Journal._

  private val folder = new Path(location, Folder)
  private val fs = folder.getFileSystem(hadoop)
  private val files = new AtomicFiles(fs, hadoop)

  def path: String = folder.toString

  /** The last decision that was written, and whether it is done. */
  def newest(): Option[(JournalEntry, Boolean)] = numbers().lastOption.flatMap { number =>
    files.read(decision(number)).map { text =>
      JournalJson.read(text, decision(number).toString) -> fs.exists(done(number))
    }
  }

  /** All decisions of a batch, the first one first. */
  def rounds(batch: Long): Seq[JournalEntry] = numbers().filter(_._1 == batch).flatMap(number =>
    files.read(decision(number)).map(JournalJson.read(_, decision(number).toString))
  )

  /** What is decided of a batch, if not all of it is committed. */
  def undone(batch: Long, round: Int): Option[JournalEntry] =
    // As a rule there is none, which is one question.
    files.read(decision((batch, round))).filterNot(_ => fs.exists(done((batch, round))))
      .map(JournalJson.read(_, decision((batch, round)).toString))

  /**
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT where it is decided already
   * @throws java.io.IOException it is not written, unless [[has]] says so
   */
  def decide(entry: JournalEntry): Unit =
    try files.create(decision((entry.batch, entry.round)), JournalJson.write(entry))
    catch {
      // An answer that is lost may have been tried again below this.
      case e: FileAlreadyExistsException if !has(entry) =>
        throw Errors.journalConflict(
          path,
          s"batch ${entry.batch} has been decided by another run of the query",
          e
        )
    }

  /** Whether this very decision is there. */
  def has(entry: JournalEntry): Boolean =
    files.read(decision((entry.batch, entry.round))).contains(JournalJson.write(entry))

  /** Everything of it is committed; what is older is not needed any more. */
  def finish(entry: JournalEntry): Unit = {
    files.replace(done((entry.batch, entry.round)), "")
    numbers().filter(_._1 < entry.batch - Kept).foreach(remove)
  }

  /**
   * Whether Spark has logged what the batch reads, so that after a failure it is made of the same again. Without that, a
   * batch that was decided could be followed by another one of its number: real-time mode logs offsets after the batch.
   */
  def isPlanned(batch: Long): Boolean = fs.exists(new Path(new Path(location, "offsets"), batch.toString))

  /** As if it had never been decided; only where Kafka has aborted all of it. */
  def retract(entry: JournalEntry): Unit = remove((entry.batch, entry.round))

  /** From now on this run decides. Decisions of another query, whose checkpoint was deleted, are dropped. */
  def claim(queryId: String, run: String): Unit = {
    newest().filter(_._1.queryId != queryId).foreach(_ => numbers().foreach(remove))
    files.replace(owner, run)
  }

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT where another run has come */
  def checkClaim(run: String): Unit = files.read(owner).filter(_ != run).foreach { other =>
    throw Errors.journalConflict(path, s"run '$other' of it has started after this one, '$run'")
  }

  /** All of it; only where nothing is open. */
  def delete(): Unit = {
    val _ = fs.delete(new Path(location), true)
  }

  private def remove(number: Number): Unit = {
    // The decision last: without it, 'done' means nothing.
    fs.delete(decision(number), false)
    val _ = fs.delete(done(number), false)
  }

  private def numbers(): Seq[Number] =
    try
      fs.listStatus(folder).toSeq.map(_.getPath.getName).collect { case DecisionFile(batch, round) =>
        (batch.toLong, round.toInt)
      }.sorted
    catch { case _: FileNotFoundException => Nil }

  private def decision(number: Number) = new Path(folder, s"${number._1}-${number._2}.json")
  private def done(number: Number) = new Path(folder, s"${number._1}-${number._2}.done")
  private def owner = new Path(folder, "run")
}

private[sink] object Journal {
  val Folder = "dynamic-kafka-sink"

  /** Batches whose decisions are kept, for people who look for the reason of something. */
  private val Kept = 10L
  private val DecisionFile = """(\d+)-(\d+)\.json""".r

  private type Number = (Long, Int)

  /** A job's journal, beside those of others that use the same location. */
  def ofJob(location: String, job: String, hadoop: Configuration): Journal =
    new Journal(new Path(jobs(location), job).toString, hadoop)

  /** Those of all jobs that were there. */
  def earlier(location: String, hadoop: Configuration): Seq[Journal] = {
    val folder = jobs(location)
    try
      folder.getFileSystem(
        hadoop
      ).listStatus(folder).toSeq.filter(_.isDirectory).map(_.getPath.toString).sorted
        .map(new Journal(_, hadoop))
    catch { case _: FileNotFoundException => Nil }
  }

  private def jobs(location: String) = new Path(location, "dynamic-kafka-jobs")
}
