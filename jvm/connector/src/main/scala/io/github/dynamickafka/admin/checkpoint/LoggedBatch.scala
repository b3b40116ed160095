package io.github.dynamickafka.admin.checkpoint

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}

/**
 * One entry of Spark's offset log, versions 1 and 2. The name of a source is the name of its folder, so it is not trusted: one that leads
 * elsewhere is refused.
 *
 * @param offsets the text of the offset where the batch ends, by source, in the order of the entry; None: the source has none
 * @param metadata the line of the batch's metadata
 * @param timestampMs when the batch was planned, if the entry has it
 * @param written the whole entry
 */
private[admin] final case class LoggedBatch(
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
private[admin] final case class SourceId(name: String, index: Int) {

  /** The number; of a source with a name, its place. The name `01` is not the number 1. */
  def number: Int = name.toIntOption.filter(_.toString == name).getOrElse(index)

  /** In JSON, a number where Spark has numbered the source. */
  def shown: Any = name.toIntOption.filter(_.toString == name).getOrElse(name)
}

private[admin] object LoggedBatch {
  private val Numbered = "v1"
  private val Named = "v2"
  private val NoOffset = "-"

  /** Spark takes letters, digits and underscores. */
  private val Name = "[\\p{L}\\p{N}_][\\p{L}\\p{N}_.-]*"
  private val mapper = new ObjectMapper

  /** @throws Refusal if the entry has another format */
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
