package io.github.dynamickafka.format.table

import io.github.dynamickafka.format.{
  DeclaredSchema,
  Format,
  FormatOptions,
  FormatSetting,
  SchemaText,
  SideFormat
}
import io.github.dynamickafka.option.{FormatKey, RawOptions}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/** Parses the options of the sink about formats, or throws an error for the first that is invalid or has no effect. Pure. */
private[dynamickafka] object WriteOptionsParser {
  import WriteOptionSpecs._

  /**
   * @param isCatalogTable whether the metadata of clusters may have registries too
   * @param formats those that the options can name
   */
  def parse(
      raw: RawOptions,
      isCatalogTable: Boolean = false,
      formats: Formats = Formats.registered
  ): FormatOptions = {
    val value = FormatOptionsParser.ofClass(raw, ValueSerializer, ValueFormat)
      .getOrElse(raw.get(ValueFormat.copy(valueType = formats.valuesToWrite)))
    val key = FormatOptionsParser.ofClass(raw, KeySerializer, KeyFormat)
      .orElse(raw.find(KeyFormat.copy(valueType = formats.toWrite)))
    val fields = FormatOptionsParser.keyFields(raw, key)
    if (!isCatalogTable) RegistryOptions.checkUse(raw, value +: key.toSeq)
    val ofValue = side(raw, FormatKey.Value, value, isCatalogTable)
    val ofKey = key.map(side(raw, FormatKey.Key, _, isCatalogTable))
    FormatOptionsParser.checkFormats(raw, value, key)
    ofKey.foreach(RegistryOptions.checkSubjects(ofValue, _))
    val fromRegistry = RegistryOptions.givesSchema(raw, value)
    FormatOptions(
      ofValue,
      ofKey,
      fields,
      FormatOptionsParser.prefix(raw, fields),
      raw.get(ValueFieldsInclude),
      if (fromRegistry) None
      else
        FormatOptionsParser.schema(raw, value +: key.toSeq)
          .orElse(value.fixedSchema.map(columns => DeclaredSchema(SchemaText.nullable(columns)))),
      None,
      raw.find(MetadataPrefix).getOrElse(""),
      schemaFromRegistry = fromRegistry,
      upsert = FormatOptionsParser.isUpsert(raw, value, key, fields)
    )
  }

  private def side(raw: RawOptions, name: String, format: Format, isCatalogTable: Boolean): SideFormat = {
    val own = raw.formats.filter { case (key, _) => key.side.forall(_ == name) && key.format == format.name }
    // The options of the side come after those of both, so that they win.
    val (ofRegistry, ofFormat) = own.sortBy(_._1.side.isDefined)
      .partition { case (key, _) =>
        RegistryOptions.find(format, key.option, RegistryOptionSpecs.all).isDefined
      }
    val writer = format.writer.get
    val set = ofFormat.map { case (key, w) =>
      FormatOptionsParser.setting(
        writer.settings,
        writer.setting,
        FormatSetting.refusedInWrites(format, _),
        key,
        w
      ).name -> w.value
    }.toMap
    SideFormat(
      format,
      writer.forEncoder(set),
      registries =
        RegistryOptions.of(raw, format, ofRegistry, required = !isCatalogTable && format.hasRegistry)
    )
  }
}
