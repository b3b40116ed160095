package io.github.dynamickafka.option

import java.util.Locale

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors

/**
 * The declaration of one option of the data source, for parsing, suggestions and documentation.
 *
 * @param name the documented name, in camelCase; users may write it in any case and with hyphens
 * @param default the value if the option is not set; None if its absence has its own meaning
 * @param defaultText the default in the documentation
 * @param doc the description for users, in Markdown
 * @param perCluster whether `cluster.<id>.<name>` sets the option for one cluster
 * @param aliases other names, which may contain dots
 * @param secret whether the value is not printed
 */
private[dynamickafka] final case class OptionSpec[T](
    name: String,
    valueType: OptionType[T],
    default: Option[T],
    defaultText: String,
    doc: String,
    perCluster: Boolean = false,
    aliases: Seq[String] = Nil,
    secret: Boolean = false
) {
  val key: String = OptionName.normalize(name)
  private val keys: Set[String] = aliases.map(OptionName.normalize).toSet + key

  /** @param writtenAs the name of the option as the user wrote it, for the error message */
  def parse(value: String, writtenAs: String = name): T =
    valueType.parse(value.trim).fold(
      reason => throw Errors.invalidOption(writtenAs, shown(value), reason),
      identity
    )

  /** The value in error messages. */
  def shown(value: String): String = if (secret && value.nonEmpty) Redaction.Redacted else value

  def named(other: String): Boolean = keys.contains(OptionName.normalize(other))
}

/** Compares option names without regard to case and hyphens, so that the spellings of Flink are valid. */
private[dynamickafka] object OptionName {
  val Kafka = "kafka."
  val Cluster = "cluster."
  val MetadataService = "metadataService."
  val Prefixes: Seq[String] = Seq(Kafka, Cluster, MetadataService)

  def normalize(name: String): String = name.replace("-", "").toLowerCase(Locale.ROOT)

  /** The rest of `name` after the prefix, unchanged, if `name` starts with the prefix in any spelling. */
  def afterPrefix(name: String, prefix: String): Option[String] = {
    val dot = name.indexOf('.')
    if (dot >= 0 && normalize(name.take(dot + 1)) == normalize(prefix)) Some(name.drop(dot + 1)) else None
  }
}
