package io.github.dynamickafka.kafka

import java.util.regex.{MatchResult, Matcher}

import scala.jdk.CollectionConverters._
import scala.util.Using

import javax.net.ssl.SSLContext
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.config.{AbstractConfig, ConfigDef, ConfigException, ConfigTransformer}
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory

import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.schemaregistry.{RegistrySecurity, RegistrySecurityException}

/**
 * Resolves Kafka's `${provider:path:key}` references in values that the connector itself uses, such as the headers of a
 * metadata service. The Kafka clients resolve the references in their own properties.
 *
 * The values come from Kafka's providers `file`, `env` and `dir`, as far as the system property
 * `org.apache.kafka.automatic.config.providers` allows them.
 */
private[dynamickafka] object SecretReferences {
  private val pattern = ConfigTransformer.DEFAULT_PATTERN

  /**
   * Returns the values with all references replaced. Each call resolves the references again, so a changed secret is
   * used from the next call on. The result must not be cached or printed.
   *
   * @throws org.apache.kafka.common.config.ConfigException if a reference cannot be resolved. The message contains the
   *         reference but no value
   */
  def resolve(values: Map[String, String]): Map[String, String] = {
    val found = values.values.flatMap(pattern.matcher(_).results().iterator.asScala.map(_.group)).toSet
    if (found.isEmpty) values
    else {
      val targets = lookUp(found)
      def target(m: MatchResult) = Matcher.quoteReplacement(targets(m.group))
      values.map { case (name, value) => name -> pattern.matcher(value).replaceAll(target(_)) }
    }
  }

  private def lookUp(references: Set[String]): Map[String, String] = {
    val asked = ClientDefaults.configProviders.toMap ++ references.map(r => r -> r)
    val answer = new AbstractConfig(new ConfigDef, asked.asJava, false).originals.asScala
    // Kafka leaves a reference unchanged if the provider, the file or the key does not exist.
    references.map { reference =>
      answer.get(reference).map(_.toString).filter(_ != reference) match {
        case Some(target) => reference -> target
        case None => throw new ConfigException(s"the reference $reference cannot be resolved")
      }
    }.toMap
  }
}

/** TLS and references by the implementations of Kafka's clients. Found as a service: `META-INF/services`. */
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
