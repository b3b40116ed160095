package io.github.dynamickafka.schemaregistry

import java.nio.ByteBuffer
import java.{util => ju}

/**
 * What precedes the bytes of keys or values in formats with a registry: the id of their schema, which depends on the registry of the
 * cluster and on the subject of the topic. Sent to executors.
 *
 * @param ofKeys whether these are keys
 * @param registered the same schema as a registry has it, if it was taken from there
 */
private[dynamickafka] final case class Frame(
    registries: Registries,
    schema: RegisteredSchema,
    ofKeys: Boolean,
    registered: Option[RegisteredSchema] = None
) {

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException as [[SchemaCache.id]] */
  def id(cluster: String, topic: String, registrar: SchemaCache): Int = {
    val settings = registries.of(cluster)
    val subject = settings.subject.getOrElse(s"$topic-${if (ofKeys) "key" else "value"}")
    registrar.id(settings, subject, schema, settings.autoRegister, registered)
  }
}

private[dynamickafka] object Frame {

  /** The keys or the values of a topic. */
  final case class TopicSide(cluster: String, topic: String, ofKeys: Boolean)
}

/**
 * Puts the id of the schema before the bytes of keys or values. Used by one task. Not thread-safe.
 *
 * @param known the ids that the driver has asked for
 */
private[dynamickafka] final class Framing(
    frame: Frame,
    known: Map[Frame.TopicSide, Int] = Map.empty,
    registrar: SchemaCache = SchemaCache.shared
) {
  private val ids = new ju.HashMap[(String, String), Integer]

  /**
   * Asks the registry at the first record of a topic that is not known.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException as [[SchemaCache.id]]
   */
  def framed(cluster: String, topic: String, payload: Array[Byte]): Array[Byte] = {
    def asked = frame.id(cluster, topic, registrar)
    val id = ids.computeIfAbsent(
      (cluster, topic),
      _ => Int.box(known.getOrElse(Frame.TopicSide(cluster, topic, frame.ofKeys), asked))
    )
    WireFormat.framed(id, payload)
  }
}

/** Confluent's wire format: a byte 0, the id of the schema in four bytes, the payload. Pure. */
private[dynamickafka] object WireFormat {
  final val Magic = 0
  final val HeaderLength = 5

  def hasHeader(bytes: Array[Byte]): Boolean = bytes.length >= HeaderLength && bytes(0) == Magic

  /** The id of the schema; only of bytes with a header. */
  def id(bytes: Array[Byte]): Int =
    (bytes(1) & 0xff) << 24 | (bytes(2) & 0xff) << 16 | (bytes(3) & 0xff) << 8 | (bytes(4) & 0xff)

  /** @param id of the schema, as the registry gave it */
  def framed(id: Int, payload: Array[Byte]): Array[Byte] =
    ByteBuffer.allocate(HeaderLength + payload.length).put(Magic.toByte).putInt(id).put(payload).array
}
