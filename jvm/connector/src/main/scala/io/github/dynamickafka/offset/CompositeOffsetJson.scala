package io.github.dynamickafka.offset

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64
import java.util.zip.{DeflaterOutputStream, InflaterInputStream}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.JsonNode

import io.github.dynamickafka.error.Errors

/**
 * The codec of composite offsets (`docs/dev/composite-offset.md`). Writes one line with keys in a stable order and without empty sections;
 * offsets of more than 64 KiB are packed. Rejects another version and an unknown section, because ignoring it could lose records.
 */
private[dynamickafka] object CompositeOffsetJson {

  private val PackAbove = 64 * 1024

  /** The least text of a partition, so that a large offset is not written twice. */
  private val LeastPerPartition = """"0":1,""".length

  /** The offset as a part of another JSON text. */
  val form: JsonForm[CompositeOffset] =
    JsonForm[CompositeOffset]((json, offset) => json.writeRawValue(offset.json))((node, _) =>
      read(node.toString)
    )

  def write(offset: CompositeOffset): String = {
    val partitions = offset.clusters.valuesIterator.map(_.size).sum
    def plain = OffsetForms.plain.offset.text(offset)
    Option.when(partitions * LeastPerPartition <= PackAbove)(plain).filter(_.length <= PackAbove)
      .getOrElse(s"""{"version":${CompositeOffset.Version},"packed":"${PackedOffset.pack(offset)}"}""")
  }

  /** The positions of one cluster in the JSON format of Spark's Kafka source: `{"orders":{"0":42,"1":7}}`. */
  def writePositions(positions: Positions): String = OffsetForms.plain.positions.text(positions)

  /** @throws DynamicKafkaRuntimeException `INVALID_OFFSET`, `UNKNOWN_OFFSET_VERSION`, `PLAIN_KAFKA_CHECKPOINT` */
  def read(text: String): CompositeOffset = {
    val root =
      try JsonForm.mapper.readTree(text)
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
      else OffsetForms.plain.offset.read(root, "")
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
    val text = new OffsetForms(numbers(offsets, ByteBuffer.allocate(0))).offset.text(offset).getBytes(UTF_8)
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
      try JsonForm.mapper.readTree(text)
      catch { case NonFatal(e) => throw Errors.invalidOffset("section 'packed' contains no JSON", e) }
    val offset = new OffsetForms(numbers(new ByteArrayOutputStream, bytes)).offset.read(skeleton, "")
    if (bytes.hasRemaining) throw Errors.invalidOffset("section 'packed' has more offsets than partitions")
    offset
  }

  private def numbers(out: ByteArrayOutputStream, in: ByteBuffer) = JsonForm[SortedMap[Int, Long]] {
    (json, partitions) =>
      if (partitions.lastOption.forall(_._1 == partitions.size - 1)) json.writeNumber(partitions.size)
      else json.writeArray(partitions.keysIterator.toArray, 0, partitions.size)
      partitions.valuesIterator.foreach(writeVarint(out, _))
  } { (node, where) =>
    val partitions: Iterator[Int] =
      if (node.isInt) Iterator.range(0, checked(node.longValue, in.remaining.toLong))
      else if (node.isArray && node.elements.asScala.forall(p => p.isInt && p.intValue >= 0))
        node.elements.asScala.map(_.intValue)
      else throw Errors.invalidOffset(s"$where is neither a number of partitions nor an array of partitions")
    SortedMap.from(partitions.map(_ -> readVarint(in)))
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

/**
 * The sections of a composite offset. Their order is part of the format, because packed offsets have their numbers in this order.
 *
 * @param numbers the offsets of the partitions of a topic
 */
private[dynamickafka] final class OffsetForms(numbers: JsonForm[SortedMap[Int, Long]]) {
  import JsonForm._
  import OffsetForms._

  val positions: JsonForm[Positions] = byName(numbers).as(Positions(_))(_.byTopic)
  val byCluster: JsonForm[SortedMap[String, Positions]] = byName(positions)

  private val formerCluster = record[FormerCluster]((f, of) =>
    FormerCluster(f("id", of.id)(name), f.maybe("cluster", of.kafkaId)(name))
  )

  private val retainedTopic = record[RetainedTopic] { (f, of) =>
    val since = f("since", of.since)(number)
    val id = f.maybe("id", of.id)(name)
    val former = f.maybe("former", of.former)(formerCluster)
    val offsets = f("offsets", of.offsets)(numbers)
    val epochs = f.orElse("epochs", of.epochs, SortedMap.empty[Int, Long])(epochsOf(offsets))
    RetainedTopic(since, offsets, id, epochs, former)
  }

  private val retained = record[Retained]((f, of) =>
    Retained(
      f("topics", of.topics)(byName(retainedTopic)),
      f.orElse("drained", of.drained, Set.empty[String])(texts),
      f.orElse("past", of.past, Set.empty[String])(texts)
    )
  )

  private val ends = record[TopicEnds]((f, of) =>
    TopicEnds(f("by", of.by)(text), f("offsets", of.offsets)(numbers))
  )

  private def identity(positions: => Positions, entered: => Positions) = record[ClusterIdentity]((f, of) =>
    ClusterIdentity(
      f.maybe("cluster", of.kafkaId)(name),
      f.orElse("topics", of.topics, SortedMap.empty[String, String])(byName(name)),
      f.orElse("epochs", of.epochs, Positions.empty)(epochs(positions)),
      f.orElse("entered", of.entered, Positions.empty)(epochs(entered))
    )
  )

  private val earlier = record[EarlierEntries] { (f, of) =>
    val batch = f("batch", of.batch)(name)
    val entered = f("entered", of.entries.positions)(byCluster)
    val ofEntered = f.orElse("epochs", of.entries.epochs, none)(byNames(id => epochs(in(entered, id))))
    EarlierEntries(batch, Entries(entered, ofEntered))
  }

  val offset: JsonForm[CompositeOffset] = record[CompositeOffset] { (f, of) =>
    val _ = f("version", CompositeOffset.Version.toLong)(number)
    val clusters = f("clusters", of.clusters)(byCluster)
    val entered = f.orElse("entered", of.entered, none)(byCluster)
    CompositeOffset(
      clusters,
      entered,
      f.orElse("retained", of.retained, SortedMap.empty[String, Retained])(byName(retained)),
      ReadUntil(
        f.orElse("draining", of.draining, none)(byCluster),
        f.orElse("ends", of.ends, StoppingOffsets.none)(byName(byName(ends)))
      ),
      f.orElse("identities", of.identities, SortedMap.empty[String, ClusterIdentity])(
        byNames(id => identity(in(clusters, id), in(entered, id)))
      ),
      f.orElse("earlier", of.earlier, Vector.empty[EarlierEntries])(seq(earlier)),
      f.orElse("history", of.history, SortedMap.empty[String, Long])(byName(number))
    )
  }
}

private[dynamickafka] object OffsetForms {
  val plain: OffsetForms = new OffsetForms(JsonForm.partitions(0, JsonForm.number))

  private val UnknownEpoch = -1L
  private val none = SortedMap.empty[String, Positions]

  private def in(all: SortedMap[String, Positions], id: String) = all.getOrElse(id, Positions.empty)

  private def epochs(positions: => Positions): JsonForm[Positions] =
    JsonForm.byNames(topic => epochsOf(positions.of(topic))).as(Positions(_))(_.at(positions).byTopic)

  /** One number if all partitions have the same epoch, otherwise one for each partition in their order, -1 for unknown. */
  private def epochsOf(offsets: SortedMap[Int, Long]) = JsonForm[SortedMap[Int, Long]] { (json, epochs) =>
    val all = offsets.keysIterator.map(epochs.getOrElse(_, UnknownEpoch)).toArray
    if (all.forall(_ == all.head)) json.writeNumber(all.head) else json.writeArray(all, 0, all.length)
  } { (node, where) =>
    if (node.isArray && node.size == offsets.size)
      SortedMap.from(offsets.keysIterator.zip(node.elements.asScala).flatMap { case (p, number) =>
        Option.when(!number.isInt || number.intValue != UnknownEpoch)(p -> epoch(number, where))
      })
    else if (node.isArray)
      throw Errors.invalidOffset(s"$where has ${node.size} epochs for ${offsets.size} partitions")
    else {
      val all = epoch(node, where)
      offsets.transform((_, _) => all)
    }
  }

  private def epoch(node: JsonNode, where: String): Long =
    if (node.isInt) JsonForm.number.read(node, where)
    else throw Errors.invalidOffset(s"$where is not a leader epoch: $node")
}
