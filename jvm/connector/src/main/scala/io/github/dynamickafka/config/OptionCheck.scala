package io.github.dynamickafka.config

import java.{util => ju}

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.{FormatOptionSpecs, FormatOptionsParser, Formats}
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.option.{OptionName, OptionTable, RawOptions, Suggestions}

/** Refuses an option that is wrong whatever the others are, in the call of a builder that sets it. */
private[dynamickafka] object OptionCheck {

  /**
   * @param name as Spark gets it: properties of Kafka's clients with `kafka.`
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException UNKNOWN_OPTION, INVALID_OPTION
   */
  def apply(name: String, value: String, table: OptionTable): Unit = {
    if (KafkaProperties.isKnown(name) && !table.has(name)) throw isProperty(name)
    for (
      property <- OptionName.afterPrefix(name, OptionName.Kafka) if !KafkaProperties.isPlausible(property)
    ) {
      table.checkProperty(property, name)
      throw Errors.unknownOption(property, Suggestions.forOption(property, table))
    }
    val raw = RawOptions(new CaseInsensitiveStringMap(ju.Map.of(name, value)), table)
    for (spec <- table.find(name) if !isFormatOfMetadata(name, value)) { val _ = spec.parse(value, name) }
    raw.formats.foreach { case (key, w) =>
      FormatOptionsParser.check(key, w, writes = table eq SinkOptionSpecs.table)
    }
    ClusterScope.checkValues(raw)
  }

  /** Refuses a property of Kafka's clients in place of an option, with or without `kafka.`. */
  def isProperty(name: String): Throwable = Errors.invalidOption(
    name,
    Redaction.Redacted,
    "it is a property of Kafka's clients, not an option: use 'setProperty' of the builder ('set_property' in Python)."
  )

  /** The format of the metadata takes its place before options are parsed. */
  private def isFormatOfMetadata(name: String, value: String) =
    FormatOptionSpecs.ValueFormat.named(name) && value.trim.equalsIgnoreCase(Formats.OfMetadata)
}
