package io.github.dynamickafka.sink.commit

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.storage.AtomicFiles

/**
 * The decisions of a query, in its checkpoint. Files are written atomically, and decisions are never overwritten: if
 * two queries decide the same batch, one of them fails.
 *
 * `<batch>-<round>.json` is a decision, and `<batch>-<round>.done`, which contains the digest of the decision, marks that
 * all its transactions are committed.
 *
 * @param location the location of the checkpoint
 * @param leastGeneration see [[Claims]]
 */
private[sink] final class Journal(
    location: String,
    hadoop: Configuration,
    newInstance: () => String = Claim.newInstance _,
    leastGeneration: () => Long = () => 1L
) {
  import Journal._

  private val home = new Path(location).getFileSystem(hadoop).makeQualified(new Path(location))
  private val folder = new Path(home, Folder)
  private val files = new AtomicFiles(folder, hadoop)
  private val claims = new Claims(folder, files, () => files.names(folder), newInstance, leastGeneration)

  /** What Spark has planned, if the location is the checkpoint of a streaming query. */
  val batches: PlannedBatches = new PlannedBatches(location, hadoop)

  def path: String = folder.toString

  /** The last decision, and whether all its transactions are committed. */
  def newest(): Option[(JournalEntry, Boolean)] = numbers().lastOption.flatMap { number =>
    files.read(decision(number)).map { text =>
      JournalJson.read(text, decision(number).toString) -> isDone(number, text)
    }
  }

  /** All decisions of a batch, in their order. */
  def rounds(batch: Long): Seq[JournalEntry] = numbers().filter(_._1 == batch).flatMap(number =>
    files.read(decision(number)).map(JournalJson.read(_, decision(number).toString))
  )

  /** The decision of a batch, if not all of its transactions are committed. */
  def undone(batch: Long, round: Int): Option[JournalEntry] =
    // Usually there is none, so that this is one request to the file system.
    files.read(decision((batch, round))).filterNot(isDone((batch, round), _))
      .map(JournalJson.read(_, decision((batch, round)).toString))

  /**
   * Writes a decision.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT if the batch is already decided
   * @throws java.io.IOException if writing fails. [[has]] returns whether the decision was written nevertheless
   */
  def decide(entry: JournalEntry): Unit = {
    val number = (entry.batch, entry.round)
    // Left behind by somebody who deleted the decision: with it, this one would look like one that replaced another.
    if (files.exists(done(number)) && !files.exists(decision(number))) files.delete(done(number))
    try files.create(decision(number), JournalJson.write(entry))
    catch {
      // A lower layer may have retried after a lost response.
      case e: FileAlreadyExistsException if !has(entry) =>
        throw Errors.journalConflict(
          path,
          s"another run of the query has decided batch ${entry.batch}",
          e
        )
    }
  }

  /** Whether exactly this decision exists. */
  def has(entry: JournalEntry): Boolean =
    files.read(decision((entry.batch, entry.round))).contains(JournalJson.write(entry))

  /** Marks that all transactions of the decision are committed, and deletes old decisions. */
  def finish(entry: JournalEntry): Unit = {
    files.replace(done((entry.batch, entry.round)), BatchInput.digest(JournalJson.write(entry)))
    numbers().filter(_._1 < entry.batch - Kept).foreach(remove)
  }

  /** Deletes a decision. Only if Kafka has aborted all its transactions. */
  def retract(entry: JournalEntry): Unit = remove((entry.batch, entry.round))

  /**
   * Makes this run the owner of the journal. Deletes decisions of another query, whose checkpoint was deleted.
   *
   * @param run unique for each start
   */
  def claim(queryId: String, run: String): Claim = {
    val mine = claims.take(queryId, run)
    removeOthers(mine)
    mine
  }

  /**
   * The newest last, so that a run that is interrupted leaves it to the next one. Looks before each deletion: another run may have
   * claimed the journal meanwhile, and decided batches with the same numbers.
   */
  private def removeOthers(mine: Claim): Unit = {
    def isOther(entry: JournalEntry) = entry.queryId != mine.queryId
    if (newest().exists { case (entry, _) => isOther(entry) })
      for {
        number <- numbers()
        text <- files.read(decision(number)) if isOther(JournalJson.read(text, decision(number).toString))
      } {
        claims.check(mine)
        remove(number)
      }
  }

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException JOURNAL_CONFLICT if another run is the owner */
  def checkClaim(claim: Claim): Unit = claims.check(claim)

  /** Whether there is a journal. */
  def exists: Boolean = files.names(folder).nonEmpty

  /** The claim that counts. */
  def owner(): Option[Claim] = claims.newest()

  /** Makes somebody who ends a decision in place of its run the owner. */
  def takeOver(entry: JournalEntry, run: String): Claim = claims.takeOver(entry, run)

  /** Shows to others, while `body` runs, that the owner of this claim ends transactions. */
  def ending[A](claim: Claim)(body: => A): A = claims.showing(claim)(body)

  /** Changes while the owner of this claim ends transactions. */
  def beat(claim: Claim): Option[String] = claims.beat(claim)

  /** Deletes the journal. Only if no decision is open. */
  def delete(): Unit = files.delete(new Path(location))

  /**
   * A mark of another decision is there if a run was stalled while it wrote a decision, and has written it after a later run
   * had finished the batch: not every file system refuses that.
   */
  private def isDone(number: Number, text: String): Boolean = files.read(done(number)).exists { mark =>
    if (mark != BatchInput.digest(text))
      throw Errors.journalConflict(
        decision(number).toString,
        s"it has replaced another decision about batch ${number._1}, all transactions of which are committed. Two runs of the " +
          "query have written it at the same time, and the file system refuses neither of them. The batch is written: put the " +
          s"SHA-256 of this file into '${done(number).getName}', and the query continues after the batch"
      )
    true
  }

  private def remove(number: Number): Unit = {
    // The decision last: without it, nothing would delete '.done' later.
    files.delete(done(number))
    files.delete(decision(number))
  }

  private def numbers(): Seq[Number] = files.names(folder).collect { case DecisionFile(batch, round) =>
    (batch.toLong, round.toInt)
  }.sorted

  private def decision(number: Number) = new Path(folder, s"${number._1}-${number._2}.json")
  private def done(number: Number) = new Path(folder, s"${number._1}-${number._2}.done")
}

private[sink] object Journal {
  val Folder = "dynamic-kafka-sink"

  /** The number of batches whose decisions are kept, for troubleshooting. */
  private[commit] val Kept = 10L
  private val DecisionFile = """(\d+)-(\d+)\.json""".r

  private type Number = (Long, Int)

  /** The journal of a streaming query in its checkpoint. */
  def ofQuery(checkpoint: String, hadoop: Configuration): Journal = timed(checkpoint, hadoop)

  /** With generations that no run had before, also if an older copy of the journal is restored. */
  private def timed(location: String, hadoop: Configuration) =
    new Journal(location, hadoop, leastGeneration = () => System.currentTimeMillis())

  /** The journal of a job, next to those of other jobs with the same location. */
  def ofJob(location: String, job: String, hadoop: Configuration): Journal =
    timed(new Path(jobs(location), job).toString, hadoop)

  /** The journals of all earlier jobs. */
  def earlier(location: String, hadoop: Configuration): Seq[Journal] = {
    val folder = jobs(location)
    new AtomicFiles(folder, hadoop).list(folder).filter(_.isDirectory).map(_.getPath.toString).sorted
      .map(timed(_, hadoop))
  }

  private def jobs(location: String) = new Path(location, "dynamic-kafka-jobs")
}
