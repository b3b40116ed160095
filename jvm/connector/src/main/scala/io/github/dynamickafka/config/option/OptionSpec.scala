package io.github.dynamickafka.config.option

import java.util.Locale

import io.github.dynamickafka.error.Errors

/**
 * One option of the data source: everything that parsing, suggestions and the documentation need to know of it.
 *
 * @param name as documented, in camelCase; users may write it in any case and with hyphens
 * @param default the value of an option that is not set; None where its absence has a meaning of its own
 * @param defaultText the default as the documentation shows it
 * @param doc what it does, in Markdown, for users
 * @param perCluster whether `cluster.<id>.<name>` sets it for one cluster
 */
private[dynamickafka] final case class OptionSpec[T](
    name: String,
    valueType: OptionType[T],
    default: Option[T],
    defaultText: String,
    doc: String,
    perCluster: Boolean = false
) {
  val key: String = OptionName.normalize(name)

  /** @param writtenAs the option's name as the user wrote it, for the error text */
  def parse(value: String, writtenAs: String = name): T =
    valueType.parse(value.trim).fold(reason => throw Errors.invalidOption(writtenAs, value, reason), identity)

  def named(other: String): Boolean = OptionName.normalize(other) == key
}

/** How names of options are compared: without regard to case and hyphens, so that Flink's spellings work. */
private[dynamickafka] object OptionName {
  val Kafka = "kafka."
  val Cluster = "cluster."
  val MetadataService = "metadataService."
  val Prefixes: Seq[String] = Seq(Kafka, Cluster, MetadataService)

  def normalize(name: String): String = name.replace("-", "").toLowerCase(Locale.ROOT)

  /** What follows the prefix, to the letter, where `name` starts with it in some spelling. */
  def afterPrefix(name: String, prefix: String): Option[String] = {
    val dot = name.indexOf('.')
    if (dot >= 0 && normalize(name.take(dot + 1)) == normalize(prefix)) Some(name.drop(dot + 1)) else None
  }
}
