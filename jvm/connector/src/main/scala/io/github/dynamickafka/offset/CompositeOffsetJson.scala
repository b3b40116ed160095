package io.github.dynamickafka.offset

import java.io.{ByteArrayOutputStream, StringWriter}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64
import java.util.zip.{DeflaterOutputStream, InflaterInputStream}

import scala.collection.immutable.SortedMap
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

/**
 * The packed form of large offsets: Base64 of zlib of
 *
 *   - the length of a JSON text in bytes, as a varint, and this text: the offset as it is written otherwise, with the
 *     numbers of its partitions in place of their offsets: `n` for the partitions 0 to n - 1, otherwise an array;
 *   - the offsets as varints (7 bits a byte, lowest first), in the order of the text.
 */
private[offset] object PackedOffset {

  def pack(offset: CompositeOffset): String = {
    val offsets = new ByteArrayOutputStream
    val numbers: OffsetJsonWriter.Partitions = (json, partitions) => {
      if (partitions.lastOption.forall(_._1 == partitions.size - 1)) json.writeNumber(partitions.size)
      else {
        json.writeStartArray()
        partitions.keysIterator.foreach(json.writeNumber(_))
        json.writeEndArray()
      }
      partitions.valuesIterator.foreach(writeVarint(offsets, _))
    }
    val text = CompositeOffsetJson.written(OffsetJsonWriter.write(_, offset, numbers)).getBytes(UTF_8)
    val packed = new ByteArrayOutputStream
    val deflate = new DeflaterOutputStream(packed)
    val length = new ByteArrayOutputStream
    writeVarint(length, text.length.toLong)
    length.writeTo(deflate)
    deflate.write(text)
    offsets.writeTo(deflate)
    deflate.close()
    Base64.getEncoder.encodeToString(packed.toByteArray)
  }

  def read(root: JsonNode): CompositeOffset = {
    root.properties.asScala.map(_.getKey).find(!Set("version", "packed")(_)).foreach { name =>
      throw Errors.invalidOffset(s"unknown section '$name' beside 'packed'")
    }
    val bytes =
      try ByteBuffer.wrap(inflated(root.get("packed").textValue))
      catch { case NonFatal(e) => throw Errors.invalidOffset("section 'packed' is damaged", e) }
    val text = new Array[Byte](checked(readVarint(bytes), bytes.remaining.toLong))
    bytes.get(text)
    val skeleton =
      try CompositeOffsetJson.mapper.readTree(text)
      catch { case NonFatal(e) => throw Errors.invalidOffset("section 'packed' contains no JSON", e) }
    val offset = new OffsetJsonReader(numbers(bytes)).read(skeleton)
    if (bytes.hasRemaining) throw Errors.invalidOffset("section 'packed' has more offsets than partitions")
    offset
  }

  private def numbers(bytes: ByteBuffer): OffsetJsonReader.Partitions = (node, where) => {
    val partitions: Iterator[Int] =
      if (node.isInt) Iterator.range(0, checked(node.longValue, bytes.remaining.toLong))
      else if (node.isArray && node.elements.asScala.forall(p => p.isInt && p.intValue >= 0))
        node.elements.asScala.map(_.intValue)
      else throw Errors.invalidOffset(s"$where is neither a number of partitions nor an array of partitions")
    SortedMap.from(partitions.map(_ -> readVarint(bytes)))
  }

  /** Each partition has at least one byte, so that a damaged count does not fill the memory. */
  private def checked(count: Long, most: Long): Int =
    if (count >= 0 && count <= most) count.toInt
    else throw Errors.invalidOffset("section 'packed' is cut off")

  private def inflated(text: String): Array[Byte] = {
    val in = new InflaterInputStream(new java.io.ByteArrayInputStream(Base64.getDecoder.decode(text)))
    try in.readAllBytes()
    finally in.close()
  }

  private def writeVarint(out: ByteArrayOutputStream, value: Long): Unit = {
    var rest = value
    while ((rest & ~0x7fL) != 0) {
      out.write(((rest & 0x7f) | 0x80).toInt)
      rest >>>= 7
    }
    out.write(rest.toInt)
  }

  private def readVarint(bytes: ByteBuffer): Long = {
    var (value, shift, more) = (0L, 0, true)
    while (more) {
      if (!bytes.hasRemaining || shift > 56) throw Errors.invalidOffset("section 'packed' is cut off")
      val next = bytes.get()
      value |= (next & 0x7fL) << shift
      shift += 7
      more = next < 0
    }
    value
  }
}
