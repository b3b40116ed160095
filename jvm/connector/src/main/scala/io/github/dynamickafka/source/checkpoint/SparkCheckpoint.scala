package io.github.dynamickafka.source.checkpoint

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}
import io.github.dynamickafka.storage.AtomicFiles

/**
 * What Spark keeps in the checkpoint of a query, and the sink and commands beside it, for the source and for commands. Only read.
 *
 * @param location the folder of the checkpoint, which may not exist
 */
private[dynamickafka] final class SparkCheckpoint(
    location: String,
    hadoop: Configuration,
    atomic: => AtomicFiles
) {
  import SparkCheckpoint._

  private lazy val files = atomic
  private val root = new Path(location)
  private val offsets = new Path(root, "offsets")
  private val commits = new Path(root, "commits")

  /** The state of a source. */
  def source(id: SourceId): SourceCheckpoint =
    new SourceCheckpoint(new Path(new Path(root, "sources"), id.name).toString, hadoop)

  /** The number of the last batch that Spark has logged; None if there is none, or this is not a checkpoint. */
  def lastLogged: Option[Long] = numbers(offsets).lastOption

  /** When Spark logged the last batch, in milliseconds since the epoch, as far as it is known. */
  def lastLoggedMs: Option[Long] = Try(newest).toOption.flatMap(_.timestampMs).filter(_ > 0)

  /** Batches that are logged and not committed, oldest first, without those that Spark cannot read either. */
  def uncommitted: Seq[LoggedBatch] = {
    val last = finished.lastOption.getOrElse(-1L)
    numbers(offsets).filter(_ > last).flatMap { number =>
      val file = new Path(offsets, number.toString)
      files.read(file).flatMap(text => Try(LoggedBatch.read(number, text, file.toString)).toOption)
    }
  }

  private lazy val editAtStart = newestEdit

  /** Notes the edits of the checkpoint when the query starts. Later calls do nothing. */
  def begin(): Unit = { val _ = editAtStart }

  /**
   * The query has its positions in memory, so it would never notice that a command has changed them in the checkpoint.
   *
   * @throws DynamicKafkaRuntimeException `CHECKPOINT_EDITED` if one did so since the start
   */
  def refuseEdited(): Unit = if (newestEdit != editAtStart) throw Errors.checkpointEdited(location)

  private def newestEdit: Option[Long] = numbers(new Path(root, Edits)).lastOption

  /** Whether the query has stateful operators: Spark creates the folder before it plans their first batch. */
  def hasState: Boolean = files.exists(new Path(root, "state"))

  /** Whether this project's sink has decided to commit this batch. */
  def isDecided(batch: Long): Boolean =
    files.names(new Path(root, SinkJournal)).exists(_.matches(s"$batch-\\d+\\.json"))

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

  /** @throws Refusal if the log does not have the batch, or it has another format */
  def batch(number: Long): LoggedBatch = {
    val all = logged
    val file = new Path(offsets, number.toString)
    val text = files.read(file).getOrElse(throw new Refusal(
      s"$location has no batch $number: its offset log has the batches ${all.head} to ${all.last}"
    ))
    LoggedBatch.read(number, text, file.toString)
  }

  def newest: LoggedBatch = batch(logged.last)

  /**
   * The newest batch, which is finished: only then a checkpoint is edited or copied.
   *
   * @param query what messages call the query
   * @throws Refusal if a batch is not finished, with what to do
   */
  def newestFinished(query: String = "query"): LoggedBatch = {
    val again = onceMore(query)
    val (planned, done) = (logged, finished)
    val unfinished = planned.filter(n => done.lastOption.forall(n > _))
    def refuseIf(wrong: Boolean)(why: => String): Unit = if (wrong) throw new Refusal(why)
    refuseIf(done.isEmpty)(
      s"nothing is committed in $location, which has planned batch ${planned.mkString(", ")}: $again"
    )
    refuseIf(unfinished.size > 1)(
      s"batches ${unfinished.mkString(", ")} of $location are logged and not finished: $again. It must " +
        "not track its progress asynchronously"
    )
    refuseIf(unfinished.nonEmpty)(s"batch ${planned.last} of $location is logged and not finished: $again")
    refuseIf(planned.last != done.last)(
      s"batch ${done.last} of $location is committed, but the newest batch in 'offsets' is ${planned.last}: a part of the " +
        "checkpoint is lost"
    )
    val commit = new Path(commits, planned.last.toString)
    val version = files.read(commit).fold("")(_.linesIterator.nextOption().fold("")(_.trim))
    if (!CommitVersions.contains(version)) throw new Refusal(
      s"$commit: this release supports versions ${CommitVersions.mkString(", ")} of Spark's commit log"
    )
    batch(planned.last)
  }

  /** @throws Refusal if records of the source are deferred, because the next batch has to read them */
  def refuseDeferred(source: SourceId, offset: CompositeOffset, batch: LoggedBatch): Unit = {
    val deferred = this.source(source).deferrals.read().all.values
    if (deferred.exists(e => !e.entered && e.deferral.endsAt(offset))) throw new Refusal(
      s"records of batch ${batch.number} of $location are deferred, and not read yet: ${onceMore("query")}"
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

private[dynamickafka] object SparkCheckpoint {

  /** The checkpoint at a path that Hadoop's configuration can read. */
  def apply(location: String, hadoop: Configuration): SparkCheckpoint =
    new SparkCheckpoint(location, hadoop, new AtomicFiles(new Path(location), hadoop))

  /** The edits of commands. */
  val Edits = "dynamic-kafka-edits"

  /** The journal of this project's sink: a decision is `<batch>-<round>.json`. */
  val SinkJournal = "dynamic-kafka-sink"
  private val CommitVersions = Seq("v1", "v2", "v3")

  private def onceMore(query: String) =
    s"start the $query once more, with availableNow, and repeat the command when it has ended"
}

/**
 * One entry of Spark's offset log, versions 1 and 2. The name of a source is the name of its folder, so it is not trusted: one that leads
 * elsewhere is refused.
 *
 * @param offsets the text of the offset where the batch ends, by source, in the order of the entry; None: the source has none
 * @param metadata the line of the batch's metadata
 * @param timestampMs when the batch was planned, if the entry has it
 * @param written the whole entry
 */
private[dynamickafka] final case class LoggedBatch(
    number: Long,
    version: String,
    metadata: String,
    timestampMs: Option[Long],
    offsets: Seq[(SourceId, Option[String])],
    written: String
) {

  /** The offsets of sources of this project. */
  def composite: Seq[(SourceId, CompositeOffset)] = offsets.collect {
    case (source, Some(text)) if LoggedBatch.isComposite(text) => source -> CompositeOffsetJson.read(text)
  }

  /** Whether a source of the query is Spark's own Kafka source, whose offsets have topics and partitions only. */
  def hasKafka: Boolean = offsets.flatMap(_._2).exists(LoggedBatch.kafka(_).nonEmpty)

  /** The entry with these offsets in place of those of the same sources. */
  def text(changed: Map[SourceId, String]): String = {
    val lines = offsets.map { case (source, offset) =>
      val shown = changed.get(source).orElse(offset).getOrElse(LoggedBatch.NoOffset)
      if (version == LoggedBatch.Numbered) shown else s"${source.name}:$shown"
    }
    (Seq(version, metadata) ++ lines).mkString("\n")
  }
}

/**
 * @param name Spark's number of the source, or the name that the query gives to it; also that of its folder
 * @param index its place in the entry, from 0
 */
private[dynamickafka] final case class SourceId(name: String, index: Int) {

  /** The number; of a source with a name, its place. The name `01` is not the number 1. */
  def number: Int = name.toIntOption.filter(_.toString == name).getOrElse(index)

  /** The value in JSON: a number where Spark has numbered the source. */
  def shown: Any = name.toIntOption.filter(_.toString == name).getOrElse(name)
}

private[dynamickafka] object LoggedBatch {
  private val Numbered = "v1"
  private val Named = "v2"
  private val NoOffset = "-"

  /** Spark takes letters, digits and underscores. */
  private val Name = "[\\p{L}\\p{N}_][\\p{L}\\p{N}_.-]*"
  private val mapper = new ObjectMapper

  def read(number: Long, text: String, file: String): LoggedBatch = {
    val lines = text.stripSuffix("\n").split("\n", -1).toSeq
    val version = lines.headOption.getOrElse("")
    if (version != Numbered && version != Named)
      throw new Refusal(s"$file: this release supports versions $Numbered, $Named of Spark's offset log")
    if (lines.size < 2) throw new Refusal(s"$file is truncated")
    val planned = Option(lines(1)).filter(_.nonEmpty).map { line =>
      Try(mapper.readTree(line)).toOption.filter(_.isObject).getOrElse(
        throw new Refusal(s"$file: the line of the batch's metadata is not JSON")
      )
    }.map(_.path("batchTimestampMs"))
    LoggedBatch(
      number,
      version,
      lines(1),
      planned.filter(_.isIntegralNumber).map(_.asLong),
      lines.drop(2).zipWithIndex.map { case (line, index) => source(line, index, version, file) },
      text
    )
  }

  private def source(line: String, index: Int, version: String, file: String) = {
    val (name, offset) =
      if (version == Numbered) (index.toString, line)
      else line.indexOf(':') match {
        case at if at > 0 => (line.take(at), line.drop(at + 1))
        case _ => throw new Refusal(s"$file: a line of an offset does not begin with the id of its source")
      }
    if (!name.matches(Name)) throw new Refusal(s"$file: '$name' is not the name of a source")
    SourceId(name, index) -> Option(offset).filter(_ != NoOffset)
  }

  /** The positions in an offset of Spark's own Kafka source; None: it is of another source. */
  def kafka(text: String): Option[Positions] = Try(mapper.readTree(text)).toOption
    .filter(root => root != null && root.isObject && root.elements.asScala.forall(isTopic))
    .map(root =>
      Positions.from(for {
        topic <- root.properties.asScala.toSeq
        partition <- topic.getValue.properties.asScala
      } yield (topic.getKey, partition.getKey.toInt, partition.getValue.longValue))
    )

  private def isTopic(partitions: JsonNode) = partitions.isObject && partitions.properties.asScala.forall(p =>
    p.getKey.toIntOption.exists(_ >= 0) && p.getValue.isIntegralNumber && p.getValue.canConvertToLong
  )

  /** Whether a text is a composite offset of any version; the log has the offsets of all sources. */
  def isComposite(text: String): Boolean = {
    def has(root: JsonNode) = root != null && root.isObject && root.path("version").isInt &&
      (root.has("clusters") || root.path("packed").isTextual)
    Try(mapper.readTree(text)).toOption.exists(has)
  }
}

/** The reason why a procedure does not do what it was called for. */
private[dynamickafka] final class Refusal(reason: String, cause: Throwable = null)
    extends RuntimeException(reason, cause)
