package io.github.dynamickafka.offset

import java.io.StringWriter

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonGenerator
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

import io.github.dynamickafka.error.Errors

/**
 * The codec of composite offsets (`docs/semantics.md`). Writes one line with keys in a stable order and without empty sections; offsets of
 * more than 64 KiB are packed. Rejects another version and an unknown section, because ignoring it could lose records.
 */
private[dynamickafka] object CompositeOffsetJson {

  private val PackAbove = 64 * 1024

  /** No partition takes less text, so that a large offset is not written twice. */
  private val LeastPerPartition = """"0":1,""".length

  private[dynamickafka] val mapper = new ObjectMapper()
    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
    .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)

  def write(offset: CompositeOffset): String = {
    val partitions = offset.clusters.valuesIterator.map(_.size).sum
    def plain = written(OffsetJsonWriter.write(_, offset, OffsetJsonWriter.plain))
    Option.when(partitions * LeastPerPartition <= PackAbove)(plain).filter(_.length <= PackAbove)
      .getOrElse(written { json =>
        json.writeStartObject()
        json.writeNumberField("version", CompositeOffset.Version)
        json.writeStringField("packed", PackedOffset.pack(offset))
        json.writeEndObject()
      })
  }

  /** The positions of one cluster in the JSON format of Spark's Kafka source: `{"orders":{"0":42,"1":7}}`. */
  def writePositions(positions: Positions): String =
    written(OffsetJsonWriter.positions(_, positions, OffsetJsonWriter.plain))

  private[offset] def written(write: JsonGenerator => Unit): String = {
    val out = new StringWriter
    val json = mapper.getFactory.createGenerator(out)
    write(json)
    json.close()
    out.toString
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
      case found if found.isInt && found.intValue == CompositeOffset.Version => ()
      case other =>
        throw Errors.unknownOffsetVersion("A composite offset", other.asText, CompositeOffset.Version)
    }
    val offset =
      if (root.has("packed")) PackedOffset.read(root)
      else new OffsetJsonReader(OffsetJsonReader.plain).read(root)
    offset.withText(text)
  }

  private def looksLikePlainKafka(root: JsonNode): Boolean =
    root.properties.asScala.forall { topic =>
      topic.getValue.isObject && topic.getValue.properties.asScala.forall { partition =>
        partition.getKey.toIntOption.isDefined && partition.getValue.isIntegralNumber
      }
    }

  private def shorten(text: String): String = if (text.length <= 200) text else text.take(200) + "..."
}
