package io.github.dynamickafka.schemaregistry

import java.lang.{Long => JLong}
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, ExecutionException}

import scala.annotation.tailrec

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.Errors

/**
 * The schemas of registries, by registry, log-in and id, for the life of the process: an id never gets another schema. The ids of the
 * schemas that are written, by registry, log-in and subject. Thread-safe.
 */
private[dynamickafka] final class SchemaCache private[schemaregistry] (
    client: RegistryClient,
    clock: Clock = Clock.System
) {
  private val schemas = new Once[(RegistryIdentity, Int), RegisteredSchema]
  private val unknown = new ConcurrentHashMap[(RegistryIdentity, Int), JLong]
  private val ids = new Once[(RegistryIdentity, String, RegisteredSchema), Int]

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
    val found = client.about(settings).schema(key._2)
    if (found.isEmpty) {
      if (unknown.size >= SchemaCache.MostUnknown) unknown.clear()
      unknown.put(key, clock.monotonicMs())
    } else unknown.remove(key)
    found
  }

  private def isUnknown(key: (RegistryIdentity, Int)): Boolean =
    Option(unknown.get(key)).exists(since => clock.monotonicMs() - since < SchemaCache.UnknownMs)

  /** The newest schema of a subject; not kept. */
  def latest(settings: RegistrySettings, subject: String): Option[LatestSchema] =
    client.about(settings).latest(subject)

  /**
   * The id of the schema in the subject, which is asked for once in a process.
   *
   * @param autoRegister whether the schema is added to a subject that does not have it
   * @param registered the same schema as a registry has it: where it is the newest of the subject, it has the id of that one. A
   *                   schema that refers to others has a text of its own in each of the two.
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException SCHEMA_NOT_FOUND without `autoRegister`,
   *         REGISTRY_UNAVAILABLE, REGISTRY_AUTHENTICATION_FAILED
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA, if the registry rejects it
   */
  def id(
      settings: RegistrySettings,
      subject: String,
      schema: RegisteredSchema,
      autoRegister: Boolean,
      registered: Option[RegisteredSchema] = None
  ): Int = {
    def missing(reason: String) = Errors.schemaNotFound(settings.shown, settings.cluster, subject, reason)
    ids.get((settings.identity, subject, schema)) { () =>
      val requests = client.about(settings)
      newest(requests, subject, registered).orElse {
        if (schema.references.nonEmpty)
          throw missing(
            "its newest version is another one, and a schema that refers to others is not registered"
          )
        if (autoRegister) Some(requests.register(subject, schema))
        else requests.lookUp(subject, schema)
      }
    }.getOrElse(throw missing(
      s"the subject does not have this schema, and '${RegistryOptionSpecs.AutoRegister.name}' is 'false'"
    ))
  }

  private def newest(requests: SchemaRequests, subject: String, registered: Option[RegisteredSchema]) =
    registered.flatMap(own => requests.latest(subject).filter(_.schema == own).map(_.id))
}

private[dynamickafka] object SchemaCache {

  /** An id that a registry does not know may be registered later, and a partition may be full of records with it. */
  private val UnknownMs = 10000L
  private val MostUnknown = 10000

  /** The cache of this process. */
  lazy val shared: SchemaCache = apply(Clock.System)

  def apply(clock: Clock): SchemaCache = new SchemaCache(new RegistryClient(clock), clock)
}

/**
 * Results by key, each made by one thread while the others that need it wait. A failure is the result of all that wait, and is
 * not kept. Thread-safe.
 */
private[schemaregistry] final class Once[K, V] {
  private val all = new ConcurrentHashMap[K, CompletableFuture[Option[V]]]

  def find(key: K): Option[V] =
    Option(all.get(key)).filter(found => found.isDone && !found.isCompletedExceptionally).flatMap(_.join())

  /** @param make None is not kept */
  @tailrec
  def get(key: K)(make: () => Option[V]): Option[V] = {
    val own = new CompletableFuture[Option[V]]
    val other = all.putIfAbsent(key, own)
    if (other == null) run(key, own, make)
    else
      (try Some(other.get())
      catch {
        // The thread that asked was interrupted, this one was not.
        case e: ExecutionException if e.getCause.isInstanceOf[InterruptedException] => None
        case e: ExecutionException => throw e.getCause
      }) match {
        case Some(result) => result
        case None => get(key)(make)
      }
  }

  private def run(key: K, own: CompletableFuture[Option[V]], make: () => Option[V]): Option[V] =
    try {
      val result = make()
      if (result.isEmpty) all.remove(key)
      own.complete(result)
      result
    } catch {
      // Errors too: without a result, those that wait would never return.
      case e: Throwable =>
        all.remove(key)
        own.completeExceptionally(e)
        throw e
    }
}
