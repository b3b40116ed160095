package io.github.dynamickafka.kafka

import java.util.regex.{MatchResult, Matcher}

import scala.jdk.CollectionConverters._

import org.apache.kafka.common.config.{AbstractConfig, ConfigDef, ConfigException, ConfigTransformer}

/**
 * Kafka's `${provider:path:key}` references in values that the connector itself uses, such as the headers of a
 * metadata service. (Those in properties of Kafka clients are resolved by the clients.)
 *
 * Kafka's own classes find the values, through its providers `file`, `env` and `dir`, as far as the JVM's property
 * `org.apache.kafka.automatic.config.providers` allows them.
 */
private[dynamickafka] object SecretReferences {
  private val pattern = ConfigTransformer.DEFAULT_PATTERN

  /**
   * The values with all references replaced. Looks anew on each call, so a secret that was changed is used from the
   * next call on. What is returned is not to be kept, nor to be printed.
   *
   * @throws org.apache.kafka.common.config.ConfigException a reference leads nowhere. It is told, and no value
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
    // Kafka leaves a reference as it is where there is no such provider, file or key.
    references.map { reference =>
      answer.get(reference).map(_.toString).filter(_ != reference) match {
        case Some(target) => reference -> target
        case None => throw new ConfigException(s"nothing is found under the reference $reference")
      }
    }.toMap
  }
}
