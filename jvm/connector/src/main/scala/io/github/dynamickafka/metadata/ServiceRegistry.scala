package io.github.dynamickafka.metadata

import java.util.UUID

import scala.collection.mutable

/**
 * Metadata services that users made themselves. Options of a data source are texts, so a service travels as a
 * handle: `metadataService=registered` and `metadataService.handle=<handle>`. On the driver only; thread-safe.
 *
 * A service stays here until the JVM ends or it is unregistered: a DataFrame knows no more of it than the handle.
 */
private[dynamickafka] object ServiceRegistry {

  /** The value of the option `metadataService` for services that are found here. */
  val Name = "registered"

  /** The argument that holds the handle. */
  val Handle = "handle"

  private val services = mutable.HashMap.empty[String, KafkaMetadataService]

  /** The same handle for the same object. */
  def register(service: KafkaMetadataService): String = synchronized {
    services.collectFirst { case (handle, known) if known eq service => handle }.getOrElse {
      val handle = UUID.randomUUID().toString
      services.update(handle, service)
      handle
    }
  }

  /** None: it was made in another JVM, or is unregistered. */
  def lookup(handle: String): Option[KafkaMetadataService] = synchronized(services.get(handle))

  def unregister(handle: String): Unit = synchronized {
    val _ = services.remove(handle)
  }
}
