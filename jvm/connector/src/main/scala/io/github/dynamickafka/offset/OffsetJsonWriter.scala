package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import com.fasterxml.jackson.core.JsonGenerator

/**
 * Writes composite offsets. The order of sections is part of the format, because packed offsets have their
 * numbers in this order.
 */
private[offset] object OffsetJsonWriter {

  val UnknownEpoch: Long = -1L

  /** Writes the offsets of the partitions of a topic. */
  type Partitions = (JsonGenerator, SortedMap[Int, Long]) => Unit

  /** As a JSON object. */
  val plain: Partitions = (json, partitions) => {
    json.writeStartObject()
    partitions.foreach { case (partition, offset) => json.writeNumberField(partition.toString, offset) }
    json.writeEndObject()
  }

  def write(json: JsonGenerator, offset: CompositeOffset, numbers: Partitions): Unit = {
    def section[A](name: String, of: SortedMap[String, A])(write: A => Unit): Unit = {
      json.writeObjectFieldStart(name)
      of.foreach { case (cluster, value) =>
        json.writeFieldName(cluster)
        write(value)
      }
      json.writeEndObject()
    }
    def optional[A](name: String, of: SortedMap[String, A])(write: A => Unit): Unit =
      if (of.nonEmpty) section(name, of)(write)
    json.writeStartObject()
    json.writeNumberField("version", CompositeOffset.Version)
    section("clusters", offset.clusters)(positions(json, _, numbers))
    optional("entered", offset.entered)(positions(json, _, numbers))
    optional("retained", offset.retained)(retained(json, _, numbers))
    optional("draining", offset.draining)(positions(json, _, numbers))
    optional("ends", offset.ends)(ends(json, _, numbers))
    if (offset.identities.nonEmpty) {
      json.writeObjectFieldStart("identities")
      offset.identities.foreach { case (cluster, known) =>
        json.writeFieldName(cluster)
        val entered = offset.entered.getOrElse(cluster, Positions.empty)
        identity(json, known, offset.position(cluster), entered)
      }
      json.writeEndObject()
    }
    if (offset.earlier.nonEmpty) {
      json.writeArrayFieldStart("earlier")
      offset.earlier.foreach(earlier(json, _, numbers))
      json.writeEndArray()
    }
    optional("history", offset.history)(json.writeNumber(_))
    json.writeEndObject()
  }

  private def earlier(json: JsonGenerator, earlier: EarlierEntries, numbers: Partitions): Unit = {
    json.writeStartObject()
    json.writeStringField("batch", earlier.batch)
    json.writeObjectFieldStart("entered")
    earlier.entries.positions.foreach { case (cluster, entered) =>
      json.writeFieldName(cluster)
      positions(json, entered, numbers)
    }
    json.writeEndObject()
    if (earlier.entries.epochs.nonEmpty) {
      json.writeObjectFieldStart("epochs")
      earlier.entries.epochs.foreach { case (cluster, known) =>
        epochs(json, cluster, known, earlier.entries.of(cluster))
      }
      json.writeEndObject()
    }
    json.writeEndObject()
  }

  def positions(json: JsonGenerator, positions: Positions, numbers: Partitions): Unit = {
    json.writeStartObject()
    positions.byTopic.foreach { case (topic, partitions) =>
      json.writeFieldName(topic)
      numbers(json, partitions)
    }
    json.writeEndObject()
  }

  private def retained(json: JsonGenerator, retained: Retained, numbers: Partitions): Unit = {
    json.writeStartObject()
    json.writeObjectFieldStart("topics")
    retained.topics.foreach { case (topic, kept) =>
      json.writeObjectFieldStart(topic)
      json.writeNumberField("since", kept.since)
      kept.id.foreach(json.writeStringField("id", _))
      kept.former.foreach { of =>
        json.writeObjectFieldStart("former")
        json.writeStringField("id", of.id)
        of.kafkaId.foreach(json.writeStringField("cluster", _))
        json.writeEndObject()
      }
      json.writeFieldName("offsets")
      numbers(json, kept.offsets)
      if (kept.epochs.nonEmpty) {
        json.writeFieldName("epochs")
        epochsOf(json, kept.epochs, kept.offsets)
      }
      json.writeEndObject()
    }
    json.writeEndObject()
    for ((name, topics) <- Seq("drained" -> retained.drained, "past" -> retained.past) if topics.nonEmpty) {
      json.writeArrayFieldStart(name)
      topics.toSeq.sorted.foreach(json.writeString)
      json.writeEndArray()
    }
    json.writeEndObject()
  }

  private def ends(json: JsonGenerator, topics: StoppingOffsets.ByTopic, numbers: Partitions): Unit = {
    json.writeStartObject()
    topics.foreach { case (topic, ends) =>
      json.writeObjectFieldStart(topic)
      json.writeStringField("by", ends.by)
      json.writeFieldName("offsets")
      numbers(json, ends.offsets)
      json.writeEndObject()
    }
    json.writeEndObject()
  }

  private def identity(
      json: JsonGenerator,
      identity: ClusterIdentity,
      positions: Positions,
      entered: Positions
  ): Unit = {
    json.writeStartObject()
    identity.kafkaId.foreach(json.writeStringField("cluster", _))
    if (identity.topics.nonEmpty) {
      json.writeObjectFieldStart("topics")
      identity.topics.foreach { case (topic, id) => json.writeStringField(topic, id) }
      json.writeEndObject()
    }
    epochs(json, "epochs", identity.epochs, positions)
    epochs(json, "entered", identity.entered, entered)
    json.writeEndObject()
  }

  private def epochs(json: JsonGenerator, name: String, epochs: Positions, positions: Positions): Unit =
    if (epochs.nonEmpty) {
      json.writeObjectFieldStart(name)
      epochs.at(positions).byTopic.foreach { case (topic, epochsOfTopic) =>
        json.writeFieldName(topic)
        epochsOf(json, epochsOfTopic, positions.of(topic))
      }
      json.writeEndObject()
    }

  /** One number if all partitions have the same epoch, otherwise one for each partition, -1 for unknown. */
  private def epochsOf(
      json: JsonGenerator,
      epochs: SortedMap[Int, Long],
      offsets: SortedMap[Int, Long]
  ): Unit = {
    val all = offsets.keysIterator.map(epochs.getOrElse(_, UnknownEpoch)).toArray
    if (all.forall(_ == all.head)) json.writeNumber(all.head)
    else {
      json.writeStartArray()
      all.foreach(json.writeNumber(_))
      json.writeEndArray()
    }
  }
}
