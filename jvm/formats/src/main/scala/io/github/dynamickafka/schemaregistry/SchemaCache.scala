package io.github.dynamickafka.schemaregistry

import java.lang.{Long => JLong}
import java.util.concurrent.ConcurrentHashMap

import io.github.dynamickafka.base.Clock

/**
 * The schemas of registries, by registry, log-in and id, for the life of the process: an id never gets another schema. Thread-safe.
 *
 * @param unknownMs for how long an id that a registry does not know is not asked for again: it may be registered later, and a
 *                  partition may be full of such records
 */
private[dynamickafka] final class SchemaCache private[schemaregistry] (
    client: RegistryClient,
    clock: Clock,
    unknownMs: Long = SchemaCache.UnknownMs
) {
  private val schemas = new Once[(RegistryIdentity, Int), RegisteredSchema]
  private val unknown = new ConcurrentHashMap[(RegistryIdentity, Int), JLong]

  /**
   * @return None: the registry does not know the id
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException REGISTRY_UNAVAILABLE,
   *         REGISTRY_AUTHENTICATION_FAILED
   */
  def schema(settings: RegistrySettings, id: Int): Option[RegisteredSchema] = {
    val key = (settings.identity, id)
    schemas.find(key).orElse {
      if (isUnknown(key)) None
      else schemas.get(key)(() => if (isUnknown(key)) None else ask(settings, key))
    }
  }

  private def ask(settings: RegistrySettings, key: (RegistryIdentity, Int)): Option[RegisteredSchema] = {
    val found = client.schema(settings, key._2)
    if (found.isEmpty) {
      if (unknown.size >= SchemaCache.MostUnknown) unknown.clear()
      unknown.put(key, clock.monotonicMs())
    } else unknown.remove(key)
    found
  }

  private def isUnknown(key: (RegistryIdentity, Int)): Boolean =
    Option(unknown.get(key)).exists(since => clock.monotonicMs() - since < unknownMs)

  /** The newest schema of a subject; not kept. */
  def latest(settings: RegistrySettings, subject: String): Option[LatestSchema] =
    client.latest(settings, subject)
}

private[dynamickafka] object SchemaCache {
  private val UnknownMs = 10000L
  private val MostUnknown = 10000

  /** Of this process. */
  lazy val shared: SchemaCache = apply(Clock.System)

  def apply(clock: Clock): SchemaCache = new SchemaCache(RegistryClient(clock), clock)
}
