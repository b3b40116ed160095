package io.github.dynamickafka.schemaregistry

import java.{util => ju}

/**
 * Puts the id of the schema before the bytes of keys or values, for formats with a registry. The id depends on the registry of the
 * cluster and on the topic. Used by one task. Not thread-safe.
 *
 * @param schema of the bytes
 * @param ofKeys whether these are keys
 */
private[dynamickafka] final class Framing(
    registries: Registries,
    schema: RegisteredSchema,
    ofKeys: Boolean,
    registrar: SchemaRegistrar = SchemaRegistrar.shared
) {
  private val ids = new ju.HashMap[(String, String), Integer]

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException as [[SchemaRegistrar.id]] */
  def framed(cluster: String, topic: String, payload: Array[Byte]): Array[Byte] =
    WireFormat.framed(id(cluster, topic), payload)

  /** Asks the registry at the first record of a topic; also called before the first one, to fail early. */
  def id(cluster: String, topic: String): Int =
    ids.computeIfAbsent((cluster, topic), _ => Int.box(ask(cluster, topic))).intValue

  private def ask(cluster: String, topic: String) = {
    val settings = registries.of(cluster)
    val subject = settings.subject.getOrElse(s"$topic-${if (ofKeys) "key" else "value"}")
    registrar.id(settings, subject, schema, settings.autoRegister)
  }
}
