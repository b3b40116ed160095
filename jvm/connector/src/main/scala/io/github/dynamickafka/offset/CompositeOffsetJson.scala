package io.github.dynamickafka.offset

import java.io.StringWriter

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonGenerator
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

import io.github.dynamickafka.error.Errors

/**
 * The codec of composite offsets, version 1 (`docs/semantics.md`). Writes one line with keys in a stable order and
 * without empty sections. Rejects an unknown version or section, because ignoring it could lose records.
 */
private[dynamickafka] object CompositeOffsetJson {

  private val mapper = new ObjectMapper()
    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
    .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)

  private val sections = Set("version", "clusters", "entered", "retained", "draining", "ends")

  def write(offset: CompositeOffset): String = {
    val out = new StringWriter
    val json = mapper.getFactory.createGenerator(out)
    json.writeStartObject()
    json.writeNumberField("version", CompositeOffset.Version)
    json.writeFieldName("clusters")
    writeByCluster(json, offset.clusters)
    if (offset.entered.nonEmpty) {
      json.writeFieldName("entered")
      writeByCluster(json, offset.entered)
    }
    if (offset.retained.nonEmpty) {
      json.writeObjectFieldStart("retained")
      offset.retained.foreach { case (cluster, retained) =>
        json.writeObjectFieldStart(cluster)
        json.writeNumberField("since", retained.since)
        json.writeFieldName("topics")
        writePositions(json, retained.positions)
        if (retained.drained.nonEmpty) {
          json.writeArrayFieldStart("drained")
          retained.drained.toSeq.sorted.foreach(json.writeString)
          json.writeEndArray()
        }
        json.writeEndObject()
      }
      json.writeEndObject()
    }
    if (offset.draining.nonEmpty) {
      json.writeFieldName("draining")
      writeByCluster(json, offset.draining)
    }
    if (offset.ends.nonEmpty) {
      json.writeFieldName("ends")
      writeEnds(json, offset.ends)
    }
    json.writeEndObject()
    json.close()
    out.toString
  }

  /** The positions of one cluster in the JSON format of Spark's Kafka source: `{"orders":{"0":42,"1":7}}`. */
  def writePositions(positions: Positions): String = {
    val out = new StringWriter
    val json = mapper.getFactory.createGenerator(out)
    writePositions(json, positions)
    json.close()
    out.toString
  }

  private def writeByCluster(json: JsonGenerator, byCluster: SortedMap[String, Positions]): Unit = {
    json.writeStartObject()
    byCluster.foreach { case (cluster, positions) =>
      json.writeFieldName(cluster)
      writePositions(json, positions)
    }
    json.writeEndObject()
  }

  private def writeEnds(json: JsonGenerator, ends: StoppingOffsets.ByCluster): Unit = {
    json.writeStartObject()
    ends.foreach { case (cluster, topics) =>
      json.writeObjectFieldStart(cluster)
      topics.foreach { case (topic, of) =>
        json.writeObjectFieldStart(topic)
        json.writeStringField("by", of.by)
        json.writeFieldName("offsets")
        writePartitions(json, of.offsets)
        json.writeEndObject()
      }
      json.writeEndObject()
    }
    json.writeEndObject()
  }

  private def writePositions(json: JsonGenerator, positions: Positions): Unit = {
    json.writeStartObject()
    positions.byTopic.foreach { case (topic, partitions) =>
      json.writeFieldName(topic)
      writePartitions(json, partitions)
    }
    json.writeEndObject()
  }

  private def writePartitions(json: JsonGenerator, partitions: SortedMap[Int, Long]): Unit = {
    json.writeStartObject()
    partitions.foreach { case (partition, offset) => json.writeNumberField(partition.toString, offset) }
    json.writeEndObject()
  }

  /** @throws DynamicKafkaRuntimeException `INVALID_OFFSET`, `UNKNOWN_OFFSET_VERSION`, `PLAIN_KAFKA_CHECKPOINT` */
  def read(text: String): CompositeOffset = {
    val root =
      try mapper.readTree(text)
      catch { case NonFatal(e) => throw Errors.invalidOffset(s"not JSON: ${shorten(text)}", e) }
    if (!root.isObject) throw Errors.invalidOffset(s"not a JSON object: ${shorten(text)}")
    root.get("version") match {
      case null if looksLikePlainKafka(root) => throw Errors.plainKafkaCheckpoint("of this query")
      case null => throw Errors.invalidOffset(s"field 'version' is missing: ${shorten(text)}")
      // A topic named "version" in an offset of Spark's Kafka source.
      case topic if topic.isObject => throw Errors.plainKafkaCheckpoint("of this query")
      case version if version.isInt && version.intValue == CompositeOffset.Version => ()
      case other => throw Errors.unknownOffsetVersion(other.asText, CompositeOffset.Version)
    }
    fields(root).find { case (name, _) => !sections(name) }.foreach { case (name, _) =>
      throw Errors.invalidOffset(s"unknown section '$name' in version ${CompositeOffset.Version}")
    }
    if (!root.has("clusters")) throw Errors.invalidOffset("section 'clusters' is missing")
    CompositeOffset(
      clusters = readByCluster(root, "clusters"),
      entered = readByCluster(root, "entered"),
      retained = readRetained(root),
      draining = readByCluster(root, "draining"),
      ends = readEnds(root)
    )
  }

  private def looksLikePlainKafka(root: JsonNode): Boolean =
    fields(root).forall { case (_, topic) =>
      topic.isObject && fields(topic).forall { case (p, offset) =>
        p.toIntOption.isDefined && offset.isIntegralNumber
      }
    }

  private def readByCluster(root: JsonNode, section: String): SortedMap[String, Positions] =
    Option(root.get(section)).fold(SortedMap.empty[String, Positions]) { node =>
      SortedMap.from(fields(obj(node, section)).map { case (cluster, topics) =>
        cluster -> readPositions(topics, s"$section.$cluster")
      })
    }

  private def readRetained(root: JsonNode): SortedMap[String, Retained] =
    Option(root.get("retained")).fold(SortedMap.empty[String, Retained]) { node =>
      SortedMap.from(fields(obj(node, "retained")).map { case (cluster, entry) =>
        val where = s"retained.$cluster"
        fields(obj(entry, where)).find { case (name, _) =>
          !Set("since", "topics", "drained")(name)
        }.foreach {
          case (name, _) => throw Errors.invalidOffset(s"unknown field '$name' in $where")
        }
        if (!entry.has("topics")) throw Errors.invalidOffset(s"field 'topics' is missing in $where")
        cluster -> Retained(
          since = number(entry.get("since"), s"$where.since"),
          positions = readPositions(entry.get("topics"), s"$where.topics"),
          drained =
            Option(entry.get("drained")).fold(Set.empty[String])(_.elements.asScala.map(_.asText).toSet)
        )
      })
    }

  private def readEnds(root: JsonNode): StoppingOffsets.ByCluster =
    Option(root.get("ends")).fold(StoppingOffsets.none) { node =>
      SortedMap.from(fields(obj(node, "ends")).map { case (cluster, topics) =>
        cluster -> SortedMap.from(fields(obj(topics, s"ends.$cluster")).map { case (topic, entry) =>
          topic -> readTopicEnds(entry, s"ends.$cluster.$topic")
        })
      })
    }

  private def readTopicEnds(entry: JsonNode, where: String): TopicEnds = {
    fields(obj(entry, where)).find { case (name, _) => !Set("by", "offsets")(name) }.foreach {
      case (name, _) => throw Errors.invalidOffset(s"unknown field '$name' in $where")
    }
    if (!entry.path("by").isTextual) throw Errors.invalidOffset(s"text field 'by' is missing in $where")
    if (!entry.has("offsets")) throw Errors.invalidOffset(s"field 'offsets' is missing in $where")
    TopicEnds(entry.get("by").textValue, readPartitions(entry.get("offsets"), s"$where.offsets"))
  }

  private def readPositions(node: JsonNode, where: String): Positions =
    Positions(fields(obj(node, where)).map { case (topic, partitions) =>
      topic -> readPartitions(partitions, s"$where.$topic")
    }.toSeq)

  private def readPartitions(node: JsonNode, where: String): SortedMap[Int, Long] =
    SortedMap.from(fields(obj(node, where)).map { case (partition, offset) =>
      val at = s"$where.$partition"
      partition.toIntOption.filter(_ >= 0).getOrElse {
        throw Errors.invalidOffset(s"'$partition' at $at is not a partition number")
      } -> number(offset, at)
    })

  private def obj(node: JsonNode, where: String): JsonNode =
    if (node.isObject) node else throw Errors.invalidOffset(s"$where is not a JSON object")

  private def number(node: JsonNode, where: String): Long =
    if (node != null && node.isIntegralNumber && node.canConvertToLong && node.longValue >= 0) node.longValue
    else throw Errors.invalidOffset(s"$where is not an integer of at least 0: $node")

  private def fields(node: JsonNode): Iterator[(String, JsonNode)] =
    node.properties.iterator.asScala.map(e => e.getKey -> e.getValue)

  private def shorten(text: String): String = if (text.length <= 200) text else text.take(200) + "..."
}
