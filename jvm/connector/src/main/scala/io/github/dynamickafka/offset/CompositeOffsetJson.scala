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
    def plain = written(new OffsetJsonWriter(_, OffsetJsonWriter.plain).write(offset))
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
    written(new OffsetJsonWriter(_, OffsetJsonWriter.plain).positions(positions))

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
    val text = CompositeOffsetJson.written(new OffsetJsonWriter(_, numbers).write(offset)).getBytes(UTF_8)
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

/**
 * Writes a composite offset. The order of sections is part of the format, because packed offsets have their
 * numbers in this order.
 *
 * @param numbers writes the offsets of the partitions of a topic
 */
private[offset] final class OffsetJsonWriter(json: JsonGenerator, numbers: OffsetJsonWriter.Partitions) {

  def write(offset: CompositeOffset): Unit = obj {
    json.writeNumberField("version", CompositeOffset.Version)
    json.writeFieldName("clusters")
    byName(offset.clusters)((_, of) => positions(of))
    section("entered", offset.entered)((_, of) => positions(of))
    section("retained", offset.retained)((_, of) => retained(of))
    section("draining", offset.draining)((_, of) => positions(of))
    section("ends", offset.ends)((_, topics) => byName(topics)((_, of) => ends(of)))
    section("identities", offset.identities)((id, known) =>
      identity(known, offset.position(id), offset.entered.getOrElse(id, Positions.empty))
    )
    if (offset.earlier.nonEmpty) {
      json.writeArrayFieldStart("earlier")
      offset.earlier.foreach(earlier)
      json.writeEndArray()
    }
    section("history", offset.history)((_, files) => json.writeNumber(files))
  }

  def positions(positions: Positions): Unit =
    byName(positions.byTopic)((_, partitions) => numbers(json, partitions))

  private def obj(body: => Unit): Unit = {
    json.writeStartObject()
    body
    json.writeEndObject()
  }

  private def byName[A](all: SortedMap[String, A])(write: (String, A) => Unit): Unit = obj {
    all.foreach { case (name, value) =>
      json.writeFieldName(name)
      write(name, value)
    }
  }

  /** Empty sections are left out. */
  private def section[A](name: String, all: SortedMap[String, A])(write: (String, A) => Unit): Unit =
    if (all.nonEmpty) {
      json.writeFieldName(name)
      byName(all)(write)
    }

  private def earlier(earlier: EarlierEntries): Unit = obj {
    json.writeStringField("batch", earlier.batch)
    json.writeFieldName("entered")
    byName(earlier.entries.positions)((_, of) => positions(of))
    section("epochs", earlier.entries.epochs)((id, known) => epochs(known, earlier.entries.of(id)))
  }

  private def retained(retained: Retained): Unit = obj {
    json.writeFieldName("topics")
    byName(retained.topics)((_, kept) => retainedTopic(kept))
    for ((name, topics) <- Seq("drained" -> retained.drained, "past" -> retained.past) if topics.nonEmpty) {
      json.writeArrayFieldStart(name)
      topics.toSeq.sorted.foreach(json.writeString)
      json.writeEndArray()
    }
  }

  private def retainedTopic(kept: RetainedTopic): Unit = obj {
    json.writeNumberField("since", kept.since)
    kept.id.foreach(json.writeStringField("id", _))
    kept.former.foreach { of =>
      json.writeFieldName("former")
      obj {
        json.writeStringField("id", of.id)
        of.kafkaId.foreach(json.writeStringField("cluster", _))
      }
    }
    json.writeFieldName("offsets")
    numbers(json, kept.offsets)
    if (kept.epochs.nonEmpty) {
      json.writeFieldName("epochs")
      epochsOf(kept.epochs, kept.offsets)
    }
  }

  private def ends(ends: TopicEnds): Unit = obj {
    json.writeStringField("by", ends.by)
    json.writeFieldName("offsets")
    numbers(json, ends.offsets)
  }

  private def identity(identity: ClusterIdentity, positions: Positions, entered: Positions): Unit = obj {
    identity.kafkaId.foreach(json.writeStringField("cluster", _))
    section("topics", identity.topics)((_, id) => json.writeString(id))
    for {
      (name, known, of) <-
        Seq(("epochs", identity.epochs, positions), ("entered", identity.entered, entered))
      if known.nonEmpty
    } {
      json.writeFieldName(name)
      epochs(known, of)
    }
  }

  private def epochs(epochs: Positions, positions: Positions): Unit =
    byName(epochs.at(positions).byTopic)((topic, known) => epochsOf(known, positions.of(topic)))

  /** One number if all partitions have the same epoch, otherwise one for each partition, -1 for unknown. */
  private def epochsOf(epochs: SortedMap[Int, Long], offsets: SortedMap[Int, Long]): Unit = {
    val all = offsets.keysIterator.map(epochs.getOrElse(_, OffsetJsonWriter.UnknownEpoch)).toArray
    if (all.forall(_ == all.head)) json.writeNumber(all.head)
    else {
      json.writeStartArray()
      all.foreach(json.writeNumber(_))
      json.writeEndArray()
    }
  }
}

private[offset] object OffsetJsonWriter {
  val UnknownEpoch: Long = -1L

  type Partitions = (JsonGenerator, SortedMap[Int, Long]) => Unit

  /** As a JSON object. */
  val plain: Partitions = (json, partitions) => {
    json.writeStartObject()
    partitions.foreach { case (partition, offset) => json.writeNumberField(partition.toString, offset) }
    json.writeEndObject()
  }
}

/**
 * Reads the sections of a composite offset.
 *
 * @param numbers reads the offsets of the partitions of a topic, given their node and its path
 */
private[offset] final class OffsetJsonReader(numbers: OffsetJsonReader.Partitions) {
  import OffsetJsonReader._

  def read(root: JsonNode): CompositeOffset = {
    fields(root).find { case (name, _) => !Sections(name) }.foreach { case (name, _) =>
      throw Errors.invalidOffset(s"unknown section '$name'")
    }
    if (!root.has("clusters")) throw Errors.invalidOffset("section 'clusters' is missing")
    // In the order in which they are written: packed offsets have their numbers in this order.
    val clusters = section(root, "clusters")(positions)
    val entered = section(root, "entered")(positions)
    CompositeOffset(
      clusters = clusters,
      entered = entered,
      retained = section(root, "retained")(retained),
      draining = section(root, "draining")(positions),
      ends = section(root, "ends")((topics, where) => byName(topics, where)(topicEnds)),
      identities = section(root, "identities")((_, _)).map { case (id, (entry, where)) =>
        def of(all: SortedMap[String, Positions]) = all.getOrElse(id, Positions.empty)
        id -> identity(entry, where, of(clusters), of(entered))
      },
      earlier = Option.when(root.has("earlier"))(array(root.get("earlier"), "earlier"))
        .fold(Vector.empty[EarlierEntries])(_.map { case (entry, where) => earlier(entry, where) }),
      history = section(root, "history")(number)
    )
  }

  private def earlier(entry: JsonNode, where: String): EarlierEntries = {
    known(entry, where, Set("batch", "entered", "epochs"))
    val entered = byName(required(entry, "entered", where), s"$where.entered")(positions)
    val epochsOf = Option(entry.get("epochs")).map(byName(_, s"$where.epochs")((_, _)))
      .getOrElse(SortedMap.empty[String, (JsonNode, String)])
    EarlierEntries(
      text(required(entry, "batch", where), s"$where.batch"),
      Entries(
        entered,
        epochsOf.map { case (id, (ofCluster, at)) =>
          id -> epochs(ofCluster, at, entered.getOrElse(id, Positions.empty))
        }
      )
    )
  }

  private def section[A](root: JsonNode, name: String)(read: (JsonNode, String) => A): SortedMap[String, A] =
    Option(root.get(name)).fold(SortedMap.empty[String, A])(byName(_, name)(read))

  private def retained(entry: JsonNode, where: String): Retained = {
    known(entry, where, Set("topics", "drained", "past"))
    def names(of: String) = entry.path(of).elements.asScala.map(_.asText).toSet
    Retained(
      byName(required(entry, "topics", where), s"$where.topics")(retainedTopic),
      names("drained"),
      names("past")
    )
  }

  private def retainedTopic(entry: JsonNode, where: String): RetainedTopic = {
    known(entry, where, Set("since", "id", "former", "offsets", "epochs"))
    val offsets = numbers(required(entry, "offsets", where), s"$where.offsets")
    RetainedTopic(
      number(entry.get("since"), s"$where.since"),
      offsets,
      Option(entry.get("id")).map(text(_, s"$where.id")),
      Option(entry.get("epochs")).fold(SortedMap.empty[Int, Long])(epochsOf(_, s"$where.epochs", offsets)),
      Option(entry.get("former")).map(former(_, s"$where.former"))
    )
  }

  private def former(entry: JsonNode, where: String): FormerCluster = {
    known(entry, where, Set("id", "cluster"))
    FormerCluster(
      text(required(entry, "id", where), s"$where.id"),
      Option(entry.get("cluster")).map(text(_, s"$where.cluster"))
    )
  }

  private def topicEnds(entry: JsonNode, where: String): TopicEnds = {
    known(entry, where, Set("by", "offsets"))
    if (!entry.path("by").isTextual) throw Errors.invalidOffset(s"text field 'by' is missing in $where")
    TopicEnds(entry.get("by").textValue, numbers(required(entry, "offsets", where), s"$where.offsets"))
  }

  private def identity(
      entry: JsonNode,
      where: String,
      positions: Positions,
      entered: Positions
  ): ClusterIdentity = {
    known(entry, where, Set("cluster", "topics", "epochs", "entered"))
    ClusterIdentity(
      Option(entry.get("cluster")).map(text(_, s"$where.cluster")),
      Option(entry.get("topics")).fold(SortedMap.empty[String, String])(byName(_, s"$where.topics")(text)),
      epochs(entry.get("epochs"), s"$where.epochs", positions),
      epochs(entry.get("entered"), s"$where.entered", entered)
    )
  }

  private def positions(node: JsonNode, where: String): Positions = Positions(byName(node, where)(numbers))
}

private[offset] object OffsetJsonReader {
  private val Sections =
    Set("version", "clusters", "entered", "retained", "draining", "ends", "identities", "earlier", "history")

  type Partitions = (JsonNode, String) => SortedMap[Int, Long]

  /** From a JSON object. */
  val plain: Partitions = (node, where) =>
    SortedMap.from(fields(obj(node, where)).map { case (partition, offset) =>
      val at = s"$where.$partition"
      partition.toIntOption.filter(_ >= 0).getOrElse {
        throw Errors.invalidOffset(s"'$partition' at $at is not a partition number")
      } -> number(offset, at)
    })

  private def epochs(node: JsonNode, where: String, positions: Positions): Positions =
    if (node == null) Positions.empty
    else
      Positions(fields(obj(node, where)).map { case (topic, epochs) =>
        topic -> epochsOf(epochs, s"$where.$topic", positions.of(topic))
      }.toSeq)

  /** One number for all partitions, or one for each in their order. */
  private def epochsOf(node: JsonNode, where: String, offsets: SortedMap[Int, Long]): SortedMap[Int, Long] =
    if (node.isArray && node.size == offsets.size)
      SortedMap.from(offsets.keysIterator.zip(node.elements.asScala).flatMap { case (p, number) =>
        Option.when(!number.isInt || number.intValue != OffsetJsonWriter.UnknownEpoch)(p -> epoch(
          number,
          where
        ))
      })
    else if (node.isArray)
      throw Errors.invalidOffset(s"$where has ${node.size} epochs for ${offsets.size} partitions")
    else {
      val all = epoch(node, where)
      offsets.transform((_, _) => all)
    }

  private def epoch(node: JsonNode, where: String): Long =
    if (node.isInt) number(node, where)
    else throw Errors.invalidOffset(s"$where is not a leader epoch: $node")

  private def byName[A](node: JsonNode, where: String)(read: (JsonNode, String) => A): SortedMap[String, A] =
    SortedMap.from(fields(obj(node, where)).map { case (name, below) =>
      name -> read(below, s"$where.$name")
    })

  private def array(node: JsonNode, where: String): Vector[(JsonNode, String)] =
    if (node.isArray) node.elements.asScala.zipWithIndex.map { case (e, i) => (e, s"$where[$i]") }.toVector
    else throw Errors.invalidOffset(s"$where is not a JSON array")

  private def known(entry: JsonNode, where: String, names: Set[String]): Unit =
    fields(obj(entry, where)).find { case (name, _) => !names(name) }.foreach {
      case (name, _) => throw Errors.invalidOffset(s"unknown field '$name' in $where")
    }

  private def required(entry: JsonNode, name: String, where: String): JsonNode =
    Option(entry.get(name)).getOrElse(throw Errors.invalidOffset(s"field '$name' is missing in $where"))

  private def obj(node: JsonNode, where: String): JsonNode =
    if (node.isObject) node else throw Errors.invalidOffset(s"$where is not a JSON object")

  private def text(node: JsonNode, where: String): String =
    if (node.isTextual && node.textValue.nonEmpty) node.textValue
    else throw Errors.invalidOffset(s"$where is not a text: $node")

  private def number(node: JsonNode, where: String): Long =
    if (node != null && node.isIntegralNumber && node.canConvertToLong && node.longValue >= 0) node.longValue
    else throw Errors.invalidOffset(s"$where is not an integer of at least 0: $node")

  private def fields(node: JsonNode): Iterator[(String, JsonNode)] =
    node.properties.iterator.asScala.map(e => e.getKey -> e.getValue)
}
