package io.github.dynamickafka.source.checkpoint

import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.Path

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.storage.AtomicFiles

/**
 * What Spark and this project's sink keep in the checkpoint of the query. Only read.
 *
 * @param source the folder of a source in it, `sources/<n>`
 */
private[source] final class QueryCheckpoint(source: Path, files: => AtomicFiles) {
  import QueryCheckpoint._

  private val home = Option(source.getParent).flatMap(sources => Option(sources.getParent))

  /** The number of the last batch that Spark has logged; None if this is not a folder of a checkpoint. */
  def lastLogged: Option[Long] =
    home.flatMap(at => files.names(new Path(at, Offsets)).flatMap(_.toLongOption).maxOption)

  private lazy val editAtStart = newestEdit

  /** Notes the edits of the checkpoint when the query starts. Later calls do nothing. */
  def begin(): Unit = { val _ = editAtStart }

  /**
   * The query has its positions in memory, so it would never notice that a command has changed them in the checkpoint.
   *
   * @throws DynamicKafkaRuntimeException `CHECKPOINT_EDITED` if one did so since the start
   */
  def refuseEdited(): Unit =
    if (newestEdit != editAtStart) throw Errors.checkpointEdited(home.fold("")(_.toString))

  private def newestEdit: Option[Long] =
    home.flatMap(at => files.names(new Path(at, Edits)).flatMap(_.toLongOption).maxOption)

  /** When Spark logged the last batch, in milliseconds since the epoch, as far as it is known. */
  def lastLoggedMs: Option[Long] = for {
    at <- home
    batch <- lastLogged
    // The lines are a version, Spark's metadata, and the offsets of the sources.
    text <- Try(files.read(new Path(at, s"$Offsets/$batch"))).toOption.flatten
    metadata <- text.linesIterator.drop(1).nextOption()
    time <- Try(mapper.readTree(metadata).path("batchTimestampMs").asLong).toOption
    if time > 0
  } yield time

  /** The offsets of this source in batches that are logged and not committed, oldest first, as text. */
  def uncommitted: Seq[String] = home.toSeq.flatMap { at =>
    def numbers(log: String) = files.names(new Path(at, log)).flatMap(_.toLongOption)
    val last = numbers(Commits).maxOption.getOrElse(-1L)
    numbers(Offsets).filter(_ > last).sorted.flatMap(batch =>
      files.read(new Path(new Path(at, Offsets), batch.toString)).flatMap(offsetIn(_))
    )
  }

  /** Version 1 has a line for each source, in order; version 2, lines `source:offset`. Both have two lines before these. */
  private def offsetIn(text: String): Option[String] = {
    val (version, lines) = (text.linesIterator.take(1).mkString, text.linesIterator.drop(2).toVector)
    val found =
      if (version == "v2")
        lines.find(_.startsWith(s"${source.getName}:")).map(_.drop(source.getName.length + 1))
      else source.getName.toIntOption.flatMap(lines.lift)
    found.filter(_.startsWith("{"))
  }

  /** Whether the query has stateful operators: Spark creates the folder before it plans their first batch. */
  def hasState: Boolean = home.exists(at => files.exists(new Path(at, State)))

  /** Whether this project's sink has decided to commit this batch. */
  def isDecided(batch: Long): Boolean =
    home.exists(at =>
      files.names(new Path(at, SinkJournal)).exists(_.matches(s"$batch-\\d+\\.json"))
    )

}

private[source] object QueryCheckpoint {

  private val mapper = new ObjectMapper

  /** Spark's offset log: a file for each batch, named by its number. */
  private val Offsets = "offsets"

  /** Spark's commit log, likewise. */
  private val Commits = "commits"

  /** The edits of commands. */
  private val Edits = "dynamic-kafka-edits"

  /** The state of stateful operators. */
  private val State = "state"

  /** The journal of this project's sink: a decision is `<batch>-<round>.json`. */
  private val SinkJournal = "dynamic-kafka-sink"
}
