package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import com.fasterxml.jackson.core.JsonGenerator

/**
 * Writes composite offsets of version 2. The order of sections is part of the format, because packed offsets have their
 * numbers in this order.
 */
private[offset] object OffsetJsonWriter {

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
    optional("identities", offset.identities)(identity(json, _))
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
    retained.topics.foreach { case (topic, of) =>
      json.writeObjectFieldStart(topic)
      json.writeNumberField("since", of.since)
      of.id.foreach(json.writeStringField("id", _))
      json.writeFieldName("offsets")
      numbers(json, of.offsets)
      json.writeEndObject()
    }
    json.writeEndObject()
    if (retained.drained.nonEmpty) {
      json.writeArrayFieldStart("drained")
      retained.drained.toSeq.sorted.foreach(json.writeString)
      json.writeEndArray()
    }
    json.writeEndObject()
  }

  private def ends(json: JsonGenerator, topics: StoppingOffsets.ByTopic, numbers: Partitions): Unit = {
    json.writeStartObject()
    topics.foreach { case (topic, of) =>
      json.writeObjectFieldStart(topic)
      json.writeStringField("by", of.by)
      json.writeFieldName("offsets")
      numbers(json, of.offsets)
      json.writeEndObject()
    }
    json.writeEndObject()
  }

  private def identity(json: JsonGenerator, identity: ClusterIdentity): Unit = {
    json.writeStartObject()
    identity.kafkaId.foreach(json.writeStringField("cluster", _))
    if (identity.topics.nonEmpty) {
      json.writeObjectFieldStart("topics")
      identity.topics.foreach { case (topic, id) => json.writeStringField(topic, id) }
      json.writeEndObject()
    }
    json.writeEndObject()
  }
}
