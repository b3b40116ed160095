package io.github.dynamickafka.format.encode

import io.github.dynamickafka.config.option.{FormatKey, RawOptions}
import io.github.dynamickafka.format.{Format, FormatOptions, FormatOptionsParser, SideFormat}

/** Parses the options of the sink about formats, or throws an error for the first that is invalid or has no effect. Pure. */
private[dynamickafka] object WriteOptionsParser {
  import WriteOptionSpecs._

  def parse(raw: RawOptions): FormatOptions = {
    val value = raw.get(ValueFormat)
    val key = raw.find(KeyFormat)
    val fields = FormatOptionsParser.keyFields(raw, key)
    val ofValue = side(raw, FormatKey.Value, value)
    val ofKey = key.map(side(raw, FormatKey.Key, _))
    FormatOptionsParser.checkFormats(raw, value, key)
    FormatOptions(
      ofValue,
      ofKey,
      fields,
      FormatOptionsParser.prefix(raw, fields),
      raw.get(ValueFieldsInclude),
      FormatOptionsParser.schema(raw, (value +: key.toSeq).exists(_.hasFields), value),
      None,
      raw.find(MetadataPrefix).getOrElse("")
    )
  }

  private def side(raw: RawOptions, name: String, format: Format): SideFormat = {
    val own = raw.formats.filter { case (key, _) => key.side.forall(_ == name) && key.format == format.name }
    // The options of the side come after those of both, so that they win.
    val set = own.sortBy(_._1.side.isDefined).map { case (key, w) =>
      FormatOptionsParser.setting(
        WriteSettings.of(format),
        WriteSettings.refused(format),
        key,
        w
      ).name -> w.value
    }.toMap
    SideFormat(format, WriteSettings.forSpark(format, set))
  }
}
