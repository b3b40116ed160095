package io.github.dynamickafka.metadata.registry

import java.util.UUID

import scala.collection.mutable

import io.github.dynamickafka.config.MetadataServiceSpec
import io.github.dynamickafka.config.option.{OptionSpec, OptionType}
import io.github.dynamickafka.metadata.KafkaMetadataService

/**
 * Metadata services that users made themselves. Options of a data source are texts, so a service travels as a
 * handle: `metadataService=registered` and `metadataService.handle=<handle>`. On the driver only; thread-safe.
 *
 * A service stays here until the JVM ends or it is unregistered: a DataFrame knows no more of it than the handle.
 */
private[dynamickafka] object ServiceRegistry {

  /** The argument that holds the handle. */
  val Handle: OptionSpec[String] =
    OptionSpec("handle", OptionType.text, None, "required", "The value that `register` returned.")

  /** For services that are found here; the builders name it, no user does. */
  val Spec: MetadataServiceSpec = MetadataServiceSpec("registered", Seq(Handle))

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
