package io.github.dynamickafka.option

import java.util.Locale

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors

/**
 * All options of the source or of the sink.
 *
 * @param all the options in the order of the documentation
 * @param unsupported names that are rejected with a specific reason
 * @param formats the formats whose options are accepted: `<format>.<option>`, also after `key.` and `value.`
 * @param elsewhere whether an option of a format only concerns the other one of source and sink
 * @param isKafkaProperty whether this is the name of a property of the Kafka clients, without the prefix `kafka.`
 * @param ownPrefixes prefixes of options that this table alone has, whose names continue with something that is not declared
 */
private[dynamickafka] final class OptionTable(
    val all: Seq[OptionSpec[_]],
    val unsupported: UnsupportedOptions,
    val formats: Seq[String] = Nil,
    elsewhere: FormatKey => Boolean = _ => false,
    val isKafkaProperty: String => Boolean = _ => false,
    ownPrefixes: Seq[String] = Nil
) {
  val perCluster: Seq[OptionSpec[_]] = all.filter(_.perCluster)

  /** Whether the name starts with a prefix of this table alone. */
  def hasPrefix(name: String): Boolean = ownPrefixes.exists(OptionName.afterPrefix(name, _).isDefined)

  def find(name: String): Option[OptionSpec[_]] = all.find(_.named(name))

  /** Whether this is an option of the table or of one of its formats. */
  def has(name: String): Boolean =
    hasPrefix(name) || find(name).isDefined || FormatKey.of(name, formats).exists(!elsewhere(_))

  /** Refuses an option after `kafka.`, which Kafka's clients would ignore. */
  def checkProperty(property: String, writtenAs: String): Unit =
    if (
      has(property) || Seq(
        OptionName.Cluster,
        OptionName.MetadataService
      ).exists(OptionName.afterPrefix(property, _).isDefined)
    )
      throw Errors.invalidOption(
        writtenAs,
        Redaction.Redacted,
        s"'$property' is an option of this data source, not a property of Kafka's clients: write it without '${OptionName.Kafka}', with " +
          "'setOption' of a builder ('set_option' in Python)."
      )
}

/**
 * Options and Kafka properties that are rejected with a specific reason, which names the option to use instead.
 *
 * @param foreign options of other connectors, and the reason for rejecting them
 * @param kafkaProperties Kafka properties that the connector sets itself, and the reason for rejecting them
 * @param unknown names that users may expect to be options, and what to do instead
 */
private[dynamickafka] final class UnsupportedOptions(
    foreign: Map[String, String],
    kafkaProperties: Map[String, String],
    unknown: Map[String, String] = Map.empty
) {
  private val foreignKeys = normalized(foreign)
  private val unknownKeys = normalized(unknown)

  private def normalized(reasons: Map[String, String]) =
    reasons.map { case (name, reason) => OptionName.normalize(name) -> reason }

  val kafkaPropertyNames: Set[String] = kafkaProperties.keySet

  private val sharedBootstrap =
    "an address belongs to one cluster: set it in the metadata, or with 'cluster.<id>.kafka.bootstrap.servers'."

  /** @param name an option that is not in the option table */
  def checkForeign(name: String, value: String): Unit = {
    val key = OptionName.normalize(name)
    foreignKeys.get(key).foreach(reason => throw Errors.invalidOption(name, value, reason))
    unknownKeys.get(key).foreach(remedy => throw Errors.unknownOption(name, s" $remedy"))
  }

  /** @param property the name, without prefix, of a Kafka property that is set for all clusters */
  def checkShared(property: String, writtenAs: String, value: String): Unit = {
    if (property.isEmpty)
      throw Errors.invalidOption(writtenAs, Redaction.Redacted, "the name of the Kafka property is empty.")
    if (property.toLowerCase(Locale.ROOT) == "bootstrap.servers")
      throw Errors.invalidOption(writtenAs, value, sharedBootstrap)
    kafkaProperties
      .get(property.toLowerCase(Locale.ROOT))
      .foreach(reason => throw Errors.invalidOption(writtenAs, value, reason))
  }

  /** @param key a `cluster.*` option without that prefix. The cluster ids need not be known */
  def checkPerCluster(key: String, writtenAs: String, value: String): Unit =
    kafkaProperties.foreach { case (property, reason) =>
      if (key.toLowerCase(Locale.ROOT).endsWith(s".$property"))
        throw Errors.invalidOption(writtenAs, value, reason)
    }
}
