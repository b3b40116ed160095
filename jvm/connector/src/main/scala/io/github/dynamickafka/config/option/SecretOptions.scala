package io.github.dynamickafka.config.option

import java.util.concurrent.ConcurrentHashMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.{AddressText, KafkaProperties}

/**
 * Warns about secrets that Spark would show: Spark prints the options of a source in plans and in its UI, and redacts
 * only names that match `spark.redaction.regex`.
 */
private[dynamickafka] object SecretOptions {
  private val log = LoggerFactory.getLogger(getClass)
  private val warned = ConcurrentHashMap.newKeySet[String]()

  /** The default of `spark.redaction.regex`. */
  private val redactedBySpark = "(?i)secret|password|token|access[.]?key".r

  /** Names of options with a secret that Spark would print. A reference such as `${file:...}` is not a secret. */
  def exposed(options: Map[String, String]): Seq[String] =
    options.toSeq.collect {
      case (name, value)
          if redactedBySpark.findFirstIn(name).isEmpty &&
            ((isSecret(name) && !value.contains("${")) || isTellingUrl(name, value)) =>
        name
    }.sorted

  /** Names of options with a secret. A reference such as `${file:...}` is not a secret. */
  def contained(options: Map[String, String]): Seq[String] =
    options.toSeq.collect {
      case (name, value)
          if (isSecret(name) || isOfRegistry(name)) && !value.contains("${") ||
            hasCredentials(name, value) => name
    }.sorted

  /** Warns once per name in this process. */
  def warn(options: RawOptions): Unit = {
    val names = exposed(options.asWritten).filter(warned.add)
    if (names.nonEmpty)
      log.warn(
        "Spark shows the value of {} in query plans and in its UI, because spark.redaction.regex does not match " +
          "the name. Store secrets in the metadata service, or use references to a Kafka config provider.",
        names.mkString(", ")
      )
  }

  /** User and password of a schema registry, of the query or of one cluster. */
  private def isUserInfo(name: String): Boolean = OptionName.normalize(name).endsWith("basicauth.userinfo")

  /** Spark also redacts a value that its expression matches. */
  private def isTellingUrl(name: String, value: String): Boolean =
    hasCredentials(name, value) && redactedBySpark.findFirstIn(value).isEmpty

  private def hasCredentials(name: String, value: String) =
    OptionName.afterPrefix(name, OptionName.MetadataService).exists(OptionName.normalize(_) == "url") &&
      AddressText.credentials(value).nonEmpty

  /** Token and passwords of a schema registry, whose names Spark redacts. */
  private def isOfRegistry(name: String): Boolean = {
    val key = OptionName.normalize(name)
    key.contains("registry.") && (key.endsWith("bearerauth.token") || endsWithPassword(name))
  }

  private def isSecret(name: String): Boolean = isUserInfo(name) ||
    Seq(OptionName.Kafka, OptionName.Cluster).exists { prefix =>
      OptionName.afterPrefix(name, prefix).exists(endsWithPassword)
    } || OptionName.afterPrefix(name, OptionName.MetadataService).exists { argument =>
      endsWithPassword(argument) || OptionName.normalize(argument).startsWith("headers.")
    }

  /** The cluster id in the key may contain dots, so every suffix of the key is tried as the name of a property. */
  private def endsWithPassword(key: String): Boolean =
    key.split('.').toSeq.tails.exists(parts => KafkaProperties.isPassword(parts.mkString(".")))
}
