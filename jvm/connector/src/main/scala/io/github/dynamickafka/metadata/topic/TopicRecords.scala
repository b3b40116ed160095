package io.github.dynamickafka.metadata.topic

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.MetadataDocument

/**
 * The newest record of each stream in a compacted topic. Immutable. Pure.
 *
 * @param topic for texts: the topic, and where it is
 */
private[topic] final case class TopicRecords(
    topic: String,
    entries: Map[String, TopicRecords.Entry] = Map.empty
) {
  import TopicRecords._

  /** @param value null removes the stream */
  def add(streamId: String, value: String, offset: Long): TopicRecords =
    if (value == null) copy(entries = entries - streamId)
    else copy(entries = entries.updated(streamId, entry(streamId, value, offset)))

  /** The streams whose newest record is valid. Where records differ about a cluster, the newest one holds. */
  lazy val streams: Map[String, KafkaStream] = {
    val good = entries.values.collect { case e: Good => e }.toSeq.sortBy(_.offset)
    val root = mapper.createObjectNode().put("version", 1)
    val (clusters, streams) = (root.putObject("clusters"), root.putObject("streams"))
    good.foreach { record =>
      val _ = clusters.setAll[ObjectNode](record.clusters)
      val _ = streams.set[ObjectNode](record.streamId, record.stream)
    }
    MetadataDocument.parse(root.toString, topic).streams
  }

  /** The streams whose newest record cannot be used, with the reason. */
  lazy val invalid: Map[String, DynamicKafkaIllegalArgumentException] =
    entries.collect { case (id, Bad(reason)) => id -> reason }

  private def entry(streamId: String, value: String, offset: Long): Entry = {
    val where = s"the record at offset $offset of $topic, stream '$streamId'"
    try {
      val tree = mapper.readTree(value) match {
        case node: ObjectNode => node
        case _ => throw Errors.metadataInvalid(where, "it is not a JSON object")
      }
      val found = MetadataDocument.parse(value, where).streams.values.toSeq
      if (found.map(_.streamId) != Seq(streamId))
        throw Errors.metadataInvalid(where, "it must contain exactly the stream of its key")
      val clusters = tree.get("clusters") match {
        case node: ObjectNode => node
        case _ => mapper.createObjectNode()
      }
      clusters.fieldNames.asScala.find(!found.head.getClusterMetadataMap.containsKey(_)).foreach(id =>
        throw Errors.metadataInvalid(where, s"the stream does not have its cluster '$id'")
      )
      Good(streamId, clusters, tree.get("streams").get(streamId), offset)
    } catch {
      case e: DynamicKafkaIllegalArgumentException => Bad(e)
      // The text of Jackson's errors contains a part of the record.
      case NonFatal(_) =>
        Bad(Errors.metadataInvalid(where, "it is not JSON in the format of the metadata file"))
    }
  }
}

private[topic] object TopicRecords {
  sealed trait Entry
  final case class Good(streamId: String, clusters: ObjectNode, stream: JsonNode, offset: Long) extends Entry
  final case class Bad(reason: DynamicKafkaIllegalArgumentException) extends Entry

  private val mapper = new ObjectMapper
}
