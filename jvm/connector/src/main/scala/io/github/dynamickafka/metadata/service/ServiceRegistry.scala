package io.github.dynamickafka.metadata.service

import java.util.UUID

import scala.collection.mutable

import io.github.dynamickafka.config.MetadataServiceSpec
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.option.{OptionSpec, OptionType}

/**
 * Metadata service objects that users created. Options of a data source are strings, so a service is passed as a
 * handle: `metadataService=registered` and `metadataService.handle=<handle>`. Used on the driver only. Thread-safe.
 *
 * A service stays registered until it is unregistered or the JVM exits, because a DataFrame refers to it only by the
 * handle.
 */
private[dynamickafka] object ServiceRegistry {

  /** The argument that holds the handle. */
  val Handle: OptionSpec[String] =
    OptionSpec("handle", OptionType.text, None, "required", "The value that `register` returned.")

  /** For services that are found here; the builders name it, no user does. */
  val Spec: MetadataServiceSpec = MetadataServiceSpec("registered", Seq(Handle))

  private val services = mutable.HashMap.empty[String, KafkaMetadataService]

  /** Returns the handle of the service, which is the same for the same object. */
  def register(service: KafkaMetadataService): String = synchronized {
    services.collectFirst { case (handle, known) if known eq service => handle }.getOrElse {
      val handle = UUID.randomUUID().toString
      services.update(handle, service)
      handle
    }
  }

  /** Returns None if the handle is from another JVM or the service was unregistered. */
  def lookup(handle: String): Option[KafkaMetadataService] = synchronized(services.get(handle))

  def unregister(handle: String): Unit = synchronized {
    val _ = services.remove(handle)
  }
}
