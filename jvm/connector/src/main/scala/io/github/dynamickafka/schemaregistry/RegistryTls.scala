package io.github.dynamickafka.schemaregistry

import scala.jdk.CollectionConverters._
import scala.util.Using

import javax.net.ssl.SSLContext
import org.apache.kafka.common.config.{AbstractConfig, ConfigDef}
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory

/** TLS with the properties and the implementation of Kafka's clients, so that the same files serve for both. */
private[schemaregistry] object RegistryTls {

  /** @param properties `ssl.*`, with references resolved */
  def context(properties: Map[String, String]): SSLContext = {
    val definition = new ConfigDef
    definition.withClientSslSupport()
    val parsed = new AbstractConfig(definition, properties.asJava, false)
    Using.resource(new DefaultSslEngineFactory) { factory =>
      factory.configure(parsed.values)
      factory.sslContext
    }
  }
}
