package io.github.dynamickafka.config.option

import java.util.concurrent.ConcurrentHashMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.{AddressText, KafkaProperties}

/**
 * Spark prints the options of a source in plans and in its UI, and hides them by their names
 * (`spark.redaction.regex`). This tells users of secrets that Spark would show.
 */
private[dynamickafka] object SecretOptions {
  private val log = LoggerFactory.getLogger(getClass)
  private val warned = ConcurrentHashMap.newKeySet[String]()

  /** The default of `spark.redaction.regex`. */
  private val redactedBySpark = "(?i)secret|password|token|access[.]?key".r

  /** Names of options that hold a secret which Spark would print. A reference like `${file:...}` holds none. */
  def exposed(options: Map[String, String]): Seq[String] =
    options.toSeq.collect {
      case (name, value)
          if redactedBySpark.findFirstIn(name).isEmpty &&
            ((isSecret(name) && !value.contains("${")) || isTellingUrl(name, value)) =>
        name
    }.sorted

  /** Once for each name in this process. */
  def warn(options: RawOptions): Unit = {
    val names = exposed(options.asWritten).filter(warned.add)
    if (names.nonEmpty)
      log.warn(
        "Spark shows the value of {} in query plans and in its UI, because spark.redaction.regex does not match " +
          "the name. Put secrets into the metadata service, or refer to them through a Kafka config provider.",
        names.mkString(", ")
      )
  }

  /** Of values, Spark hides those that its expression matches. */
  private def isTellingUrl(name: String, value: String): Boolean =
    OptionName.afterPrefix(name, OptionName.MetadataService).exists(OptionName.normalize(_) == "url") &&
      AddressText.credentials(value).nonEmpty && redactedBySpark.findFirstIn(value).isEmpty

  private def isSecret(name: String): Boolean =
    Seq(OptionName.Kafka, OptionName.Cluster).exists { prefix =>
      OptionName.afterPrefix(name, prefix).exists(endsWithPassword)
    } || OptionName.afterPrefix(name, OptionName.MetadataService).exists { argument =>
      endsWithPassword(argument) || OptionName.normalize(argument).startsWith("headers.")
    }

  /** Where the property's name begins in the key need not be known: it is one of the key's ends. */
  private def endsWithPassword(key: String): Boolean =
    key.split('.').toSeq.tails.exists(parts => KafkaProperties.isPassword(parts.mkString(".")))
}
