package io.github.dynamickafka.schemaregistry

import java.util.ServiceLoader

import javax.net.ssl.SSLContext

/**
 * What requests to registries need of the Kafka clients: secrets by reference, and TLS with the clients' properties, so that the same
 * files serve for clusters and registries. Formats do not depend on the clients: the connector has the implementation, which is found
 * as a service. Thread-safe.
 */
private[dynamickafka] trait RegistrySecurity {

  /**
   * The values with references such as `${file:...}` replaced.
   *
   * @throws RegistrySecurityException if a reference cannot be resolved
   */
  def resolve(values: Map[String, String]): Map[String, String]

  /**
   * @param properties `ssl.*`, with references resolved
   * @throws RegistrySecurityException if the properties or the files that they name are invalid
   */
  def tls(properties: Map[String, String]): SSLContext
}

/** The message contains no secret. */
private[dynamickafka] final class RegistrySecurityException(message: String) extends RuntimeException(message)

private[schemaregistry] object RegistrySecurity {

  lazy val found: RegistrySecurity =
    ServiceLoader.load(classOf[RegistrySecurity], getClass.getClassLoader).findFirst.orElse(WithoutKafka)

  /** Without the connector there is neither: values are literal, and TLS is that of the JVM. */
  private object WithoutKafka extends RegistrySecurity {
    override def resolve(values: Map[String, String]): Map[String, String] =
      if (values.values.exists(_.contains("${"))) refuse("references to secrets") else values

    override def tls(properties: Map[String, String]): SSLContext =
      refuse(properties.keys.toSeq.sorted.mkString(", "))

    private def refuse(what: String) = throw new RegistrySecurityException(s"$what: there is no Kafka client")
  }
}
