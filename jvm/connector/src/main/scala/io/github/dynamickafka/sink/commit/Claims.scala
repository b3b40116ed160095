package io.github.dynamickafka.sink.commit

import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.fs.{FileAlreadyExistsException, Path}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.storage.{AtomicFiles, Heartbeat}

/**
 * The right of a run to decide batches and to abort transactions, as long as no later run has claimed the journal.
 *
 * @param run unique for each start
 * @param instance identifies the journal. A copy of a checkpoint has another one, so that its query does not abort
 *                 transactions of the original query
 * @param generation grows with each run on this journal
 * @param location where the journal was when it was claimed
 */
private[sink] final case class Claim(
    queryId: String,
    run: String,
    instance: String,
    generation: Long,
    location: String
)

private[sink] object Claim {

  def newInstance(): String = UUID.randomUUID().toString.take(8)
}

/**
 * The claims on a journal: `run-<generation>.json` in its folder, of which the one with the highest number counts. Of two
 * runs that start at the same time, only one can create a file; the other one takes the next number.
 *
 * @param leastGeneration the least number of a claim that is taken now. By the time of day, it is greater than that of each run
 *                        before, also of those that a restored copy of the journal does not know: otherwise transactions that
 *                        these have left open would count as those of later runs
 */
private[commit] final class Claims(
    folder: Path,
    files: AtomicFiles,
    list: () => Seq[String],
    newInstance: () => String,
    leastGeneration: () => Long
) {
  import Claims._

  def take(queryId: String, run: String): Claim = take(queryId, run, MostAttempts)

  /**
   * Replaces the claim of the last run, for somebody who ends its decision: without a new instance, because this is not a copy
   * of the journal, wherever it is seen from.
   *
   * @param entry the decision, of which the claim may have been deleted
   */
  def takeOver(entry: JournalEntry, run: String): Claim = {
    val last = newest()
    val mine = Claim(
      entry.queryId,
      run,
      last.fold(entry.instance)(_.instance),
      last.fold(entry.generation)(_.generation) + 1,
      last.fold(folder.toString)(_.location)
    )
    try files.create(file(mine.generation), write(mine))
    catch {
      case e: FileAlreadyExistsException =>
        throw Errors.journalConflict(folder.toString, "a run of the query starts at the same time", e)
    }
    check(mine)
    deleteBefore(mine)
    mine
  }

  @annotation.tailrec
  private def take(queryId: String, run: String, attempts: Int): Claim = {
    val last = newest()
    val mine = Claim(
      queryId,
      run,
      last.filter(_.location == folder.toString).fold(newInstance())(_.instance),
      math.max(last.fold(0L)(_.generation) + 1, leastGeneration()),
      folder.toString
    )
    val created =
      try {
        files.create(file(mine.generation), write(mine))
        true
      } catch { case _: FileAlreadyExistsException => false }
    // Where a file system lets both of two writers succeed, this run may have been overtaken while it wrote.
    if (created && newest().contains(mine)) {
      last.filter(_.location != mine.location).foreach { other =>
        log.warn(
          s"The journal at ${mine.location} was copied or moved from ${other.location}: transactions that are open there are " +
            "not aborted by this query, but by Kafka after their timeout"
        )
      }
      deleteBefore(mine)
      mine
    } else if (attempts > 1) take(queryId, run, attempts - 1)
    else throw Errors.journalConflict(folder.toString, "other runs of the query start at the same time")
  }

  def check(mine: Claim): Unit = if (!newest().contains(mine)) {
    val why = newest().fold("the claim of this run was deleted")(other =>
      s"run '${other.run}' of the query started after this run, '${mine.run}': its generation is ${other.generation}, that of " +
        s"this run is ${mine.generation}"
    )
    throw Errors.journalConflict(folder.toString, why)
  }

  /**
   * Shows, while `body` runs and takes long, that this run ends transactions, by a file next to its claim that is written
   * again and again.
   */
  def showing[A](mine: Claim)(body: => A): A = {
    val path = beats(mine.generation)
    Heartbeat.during(
      BeatMs,
      () => files.replace(path, UUID.randomUUID().toString),
      () => files.delete(path)
    )(body)
  }

  /** The last heartbeat of a run; None: it has never had to show itself, or has finished what it did. */
  def beat(claim: Claim): Option[String] = files.read(beats(claim.generation))

  private def deleteBefore(mine: Claim): Unit = generations().filter(_ < mine.generation).foreach { old =>
    files.delete(file(old))
    files.delete(beats(old))
  }

  def newest(): Option[Claim] = generations().maxOption.flatMap(read)

  private def generations(): Seq[Long] = list().collect { case ClaimFile(generation) => generation.toLong }

  private def read(generation: Long): Option[Claim] = files.read(file(generation)).map { text =>
    try {
      val fields = mapper.readTree(text) match {
        case o: ObjectNode => o.properties.asScala.map(p => p.getKey -> p.getValue.asText).toMap
        case _ => throw new IllegalArgumentException("it is not a JSON object")
      }
      Claim(fields("queryId"), fields("run"), fields("instance"), generation, fields("location"))
    } catch {
      case NonFatal(e) =>
        throw Errors.journalConflict(file(generation).toString, s"it cannot be read: ${e.getMessage}", e)
    }
  }

  private def file(generation: Long) = new Path(folder, s"run-$generation.json")
  private def beats(generation: Long) = new Path(folder, s"run-$generation.beat")
}

private[sink] object Claims {

  /** The interval of heartbeats, in milliseconds. */
  val BeatMs = 2000L

  private val log = LoggerFactory.getLogger(classOf[Claims])
  private val mapper = new ObjectMapper
  private val ClaimFile = """run-(\d{1,18})\.json""".r
  private val MostAttempts = 10

  private def write(claim: Claim): String = mapper.writeValueAsString(
    mapper.createObjectNode().put("queryId", claim.queryId).put("run", claim.run)
      .put("instance", claim.instance).put("location", claim.location)
  )
}
