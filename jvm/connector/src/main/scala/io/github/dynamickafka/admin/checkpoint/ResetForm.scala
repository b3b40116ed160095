package io.github.dynamickafka.admin.checkpoint

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.topology.OffsetsPolicy

/** Where a query continues after `reset`, in the forms of the command. */
private[admin] sealed trait ResetForm extends Product with Serializable {

  /** The partitions that it is about, of those that are read. */
  def places(reading: Positions): Seq[(TopicPartition, ResetForm)]
}

private[admin] object ResetForm {
  final case class Offset(offset: Long) extends ResetForm {
    override def places(reading: Positions): Seq[(TopicPartition, ResetForm)] = all(reading, this)
  }
  final case class Time(ms: Long) extends ResetForm {
    override def places(reading: Positions): Seq[(TopicPartition, ResetForm)] = all(reading, this)
  }
  final case class Group(id: String) extends ResetForm {
    override def places(reading: Positions): Seq[(TopicPartition, ResetForm)] = all(reading, this)
  }
  final case class Exact(offsets: Positions) extends ResetForm {
    override def places(reading: Positions): Seq[(TopicPartition, ResetForm)] =
      offsets.at(reading).iterator.map { case (topic, p, at) => new TopicPartition(topic, p) -> Offset(at) }
        .toSeq
  }

  private def all(reading: Positions, form: ResetForm) =
    reading.iterator.map { case (topic, p, _) => new TopicPartition(topic, p) -> form }.toSeq

  /** What Kafka is asked for all partitions. */
  val Bounds: Seq[OffsetSpec] = Seq(OffsetSpec.earliest(), OffsetSpec.latest())

  private val mapper = new ObjectMapper

  /** @throws Refusal */
  def parse(text: String): ResetForm = text match {
    case "earliest" => Offset(OffsetsPolicy.EarliestOffset)
    case "latest" => Offset(OffsetsPolicy.LatestOffset)
    case timestamp if timestamp.matches("timestamp:\\d{1,18}") =>
      Time(timestamp.stripPrefix("timestamp:").toLong)
    case group if group.startsWith("group:") && group != "group:" => Group(group.stripPrefix("group:"))
    case json => Try(exact(json)).getOrElse(throw new Refusal(
        s"'$text' is neither 'earliest', 'latest', 'timestamp:<ms>', 'group:<id>' nor JSON such as " + """{"orders": {"0": 5}}"""
      ))
  }

  private def exact(text: String): Exact = {
    val root = mapper.readTree(text)
    require(root.isObject && !root.isEmpty)
    Exact(Positions.from(for {
      topic <- root.properties.asScala.toSeq
      entry <- {
        require(topic.getValue.isObject)
        topic.getValue.properties.asScala.toSeq
      }
    } yield {
      require(entry.getKey.matches("\\d{1,9}") && entry.getValue.isIntegralNumber)
      require(entry.getValue.canConvertToLong && entry.getValue.asLong >= OffsetsPolicy.EarliestOffset)
      (topic.getKey, entry.getKey.toInt, entry.getValue.asLong)
    }))
  }

  /**
   * The position of a partition, given what Kafka has.
   *
   * @param first its earliest offset, `last` its latest one
   * @param found the first offset at or after the time, -1 if there is none; or the committed offset of the group
   * @param target where a drain of the partition ends
   * @return the reason if Kafka does not have it
   */
  def resolve(
      at: TopicPartition,
      form: ResetForm,
      first: Long,
      last: Long,
      found: Option[Long],
      target: Option[Long]
  ): Either[String, Long] = {
    val offset = form match {
      case Offset(OffsetsPolicy.EarliestOffset) => first
      case Offset(OffsetsPolicy.LatestOffset) => last
      case Offset(exact) => exact
      case _ => found.filter(_ >= 0).getOrElse(last)
    }
    Either.cond(
      first <= offset && offset <= last,
      target.fold(offset)(math.min(_, offset)),
      s"topic '${at.topic}', partition ${at.partition} has the offsets $first to $last, not $offset"
    )
  }
}
