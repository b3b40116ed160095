package io.github.dynamickafka.kafka

import java.util.concurrent.ConcurrentHashMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.AddressText
import io.github.dynamickafka.option.{OptionName, RawOptions}

/**
 * Finds secrets among options by the names of the options, before any of them is parsed: a name may be an alias, and have the prefix
 * of a cluster, a side, a format or a service. Spark prints the options of a source in plans and in its UI, and redacts only names
 * and values that match `spark.redaction.regex`.
 */
private[dynamickafka] object SecretOptions {
  private val log = LoggerFactory.getLogger(getClass)
  private val warned = ConcurrentHashMap.newKeySet[String]()

  /** The default of `spark.redaction.regex`. */
  private val redactedBySpark = "(?i)secret|password|token|access[.]?key".r

  /** Kafka's, as options are compared. */
  private val passwords =
    KafkaProperties.names.filter(KafkaProperties.isPassword).map(OptionName.normalize).toSet

  /** User and password, and the token, of a schema registry. */
  private val ofRegistries = Set("basicauth.userinfo", "bearerauth.token")

  /** What visitors of the page of a driver enter. */
  private val ofPage = "uitoken"

  /** The last part of the names that drivers and plug-ins give to secrets. */
  private val telling = Seq("password", "passwd", "pwd", "secret", "token", "passphrase", "userinfo")

  /** `name: value` in a document, in YAML or JSON. */
  private val entry = """(?<![\w.-])([\w.-]++)["']?\s*:\s*["']?([^\s"'\[{][^\n"']*)""".r

  /** Names of options with a secret that Spark would print. A reference such as `${file:...}` is not a secret. */
  def exposed(options: Map[String, String]): Seq[String] =
    contained(options).filter(name =>
      redactedBySpark.findFirstIn(name).isEmpty &&
        (isSecret(name) || redactedBySpark.findFirstIn(options(name)).isEmpty)
    )

  /** Names of options with a secret. A reference such as `${file:...}` is not a secret. */
  def contained(options: Map[String, String]): Seq[String] =
    options.toSeq.collect {
      case (name, value) if isSecret(name) && !value.contains("${") || hasSecret(name, value) => name
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

  /** Whether the value of a service's argument contains secrets beside other text. */
  private def hasSecret(name: String, value: String): Boolean =
    OptionName.afterPrefix(name, OptionName.MetadataService).map(OptionName.normalize).exists {
      case "url" => AddressText.credentials(value).nonEmpty
      case "document" =>
        entry.findAllMatchIn(value).exists(m => isSecret(m.group(1)) && !m.group(2).contains("${"))
      case _ => false
    }

  /** Cluster ids and names of formats may contain dots, so every suffix of the name is tried. */
  private def isSecret(name: String): Boolean = {
    val parts = OptionName.normalize(name).split('.').toSeq
    parts.tails.map(_.mkString(".")).exists(suffix => passwords(suffix) || ofRegistries(suffix)) ||
    parts == Seq(ofPage) ||
    parts.size > 1 && telling.exists(parts.last.endsWith) ||
    OptionName.afterPrefix(name, OptionName.MetadataService).map(OptionName.normalize)
      .exists(argument => argument.startsWith("headers.") || argument == "auth")
  }
}
