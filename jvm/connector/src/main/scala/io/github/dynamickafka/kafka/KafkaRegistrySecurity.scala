package io.github.dynamickafka.kafka

import scala.jdk.CollectionConverters._
import scala.util.Using

import javax.net.ssl.SSLContext
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.config.{AbstractConfig, ConfigDef}
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory

import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.schemaregistry.{RegistrySecurity, RegistrySecurityException}

/** With the properties and the implementations of Kafka's clients. Found as a service: `META-INF/services`. */
private[dynamickafka] final class KafkaRegistrySecurity extends RegistrySecurity {

  override def resolve(values: Map[String, String]): Map[String, String] =
    failing(SecretReferences.resolve(values))

  override def tls(properties: Map[String, String]): SSLContext = failing {
    val definition = new ConfigDef
    definition.withClientSslSupport()
    val parsed = new AbstractConfig(definition, properties.asJava, false)
    Using.resource(new DefaultSslEngineFactory) { factory =>
      factory.configure(parsed.values)
      factory.sslContext
    }
  }

  private def failing[A](body: => A): A =
    try body
    catch { case e: KafkaException => throw new RegistrySecurityException(FailureText.of(e)) }
}
