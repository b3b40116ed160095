package io.github.dynamickafka.format

import io.github.dynamickafka.option.{OptionName, OptionType}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/**
 * An option of one format.
 *
 * @param name the name in Spark, or in Flink if Spark has no such option
 * @param valueType checks the value, which is passed on as text
 * @param aliases the names in Flink
 */
private[format] final case class FormatSetting(
    name: String,
    valueType: OptionType[_],
    aliases: Seq[String] = Nil
) {
  def named(other: String): Boolean =
    (name +: aliases).exists(OptionName.normalize(_) == OptionName.normalize(other))
}

/** The options of the formats. */
private[format] object FormatSetting {
  import OptionType.{boolean, int, text}

  val IgnoreParseErrors: FormatSetting = FormatSetting("ignoreParseErrors", boolean)
  val FailOnMissingField: FormatSetting = FormatSetting("failOnMissingField", boolean)

  /** Of Flink; sets the formats of timestamps in Spark. */
  val TimestampStandard: FormatSetting =
    FormatSetting("timestampFormat.standard", OptionType.oneOf("SQL" -> "SQL", "ISO-8601" -> "ISO-8601"))

  /** For Flink's `disable-quote-character`. */
  val DisableQuotes: FormatSetting = FormatSetting("disableQuoteCharacter", boolean)

  /** Whether Debezium's records contain their schema. */
  val SchemaInclude: FormatSetting = FormatSetting("schemaInclude", boolean)

  /** Of Canal: regular expressions that match names in full. */
  val DatabaseInclude: FormatSetting = FormatSetting("database.include", OptionType.regex)
  val TableInclude: FormatSetting = FormatSetting("table.include", OptionType.regex)

  /** Of Protobuf: the message of the records, and the file that describes it. */
  val MessageName: FormatSetting = FormatSetting("messageName", text)
  val DescriptorFile: FormatSetting = FormatSetting("descriptorFile", text)

  private def texts(names: String*) = names.map(FormatSetting(_, text))
  private def flags(names: String*) = names.map(FormatSetting(_, boolean))

  /** A character may be a space, and a literal may be empty. */
  private val anything: OptionType[String] = OptionType("string", Right(_))

  private val times = texts("timeZone", "dateFormat", "timestampFormat", "timestampNTZFormat", "locale") ++
    flags("enableDateTimeParsingFallback")

  private val json = Seq(IgnoreParseErrors, TimestampStandard) ++ times ++
    flags(
      "allowComments",
      "allowUnquotedFieldNames",
      "allowSingleQuotes",
      "allowNumericLeadingZeros",
      "allowNonNumericNumbers",
      "allowBackslashEscapingAnyCharacter",
      "allowUnquotedControlChars"
    ) ++ Seq("maxNestingDepth", "maxNumLen", "maxStringLen").map(FormatSetting(_, int(min = 1)))

  def isAvro(format: Format): Boolean = format match {
    case Format.Avro | Format.AvroConfluent | Format.DebeziumAvroConfluent => true
    case _ => false
  }

  /** The options on which the types of columns depend, not only their values. */
  private val decidingColumns: Set[String] = Set(
    "enableStableIdentifiersForUnionType",
    "stableIdentifierPrefixForUnionType",
    "recursiveFieldMaxDepth",
    MessageName.name,
    DescriptorFile.name,
    "recursive.fields.max.depth",
    "enums.as.ints",
    "upcast.unsigned.ints",
    "unwrap.primitive.wrapper.types"
  )

  /** Whether an option of a format decides columns and their types. */
  def decidesColumns(format: Format, option: String): Boolean =
    of(format).exists(setting => decidingColumns(setting.name) && setting.named(option))

  def of(format: Format): Seq[FormatSetting] = format match {
    case Format.Raw | Format.Text => Nil
    case Format.JsonConfluent => of(Format.Json)
    case Format.AvroConfluent | Format.DebeziumAvroConfluent => of(Format.Avro)
    case Format.Protobuf => DescriptorFile +: protobuf
    case Format.ProtobufConfluent => protobuf
    case Format.Json => FailOnMissingField +: json
    case Format.DebeziumJson => SchemaInclude +: json
    case Format.CanalJson => Seq(DatabaseInclude, TableInclude) ++ json
    case _: Format.Change => json
    case Format.Csv =>
      Seq(
        IgnoreParseErrors,
        DisableQuotes,
        FormatSetting("sep", anything, Seq("delimiter", "fieldDelimiter")),
        FormatSetting("quote", anything, Seq("quoteCharacter")),
        FormatSetting("escape", anything, Seq("escapeCharacter")),
        FormatSetting("nullValue", anything, Seq("nullLiteral")),
        FormatSetting("emptyValue", anything),
        FormatSetting("comment", anything),
        FormatSetting("charToEscapeQuoteEscaping", anything)
      ) ++ times ++ texts("nanValue", "positiveInf", "negativeInf", "unescapedQuoteHandling") ++
        flags("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace") ++
        Seq("maxColumns", "maxCharsPerColumn").map(FormatSetting(_, int(min = -1)))
    case Format.Avro =>
      texts("datetimeRebaseMode", "stableIdentifierPrefixForUnionType") ++
        flags("enableStableIdentifiersForUnionType") :+ FormatSetting(
          "recursiveFieldMaxDepth",
          int(min = -1)
        )
  }

  private val protobuf = Seq(
    IgnoreParseErrors,
    MessageName,
    FormatSetting("emit.default.values", boolean, Seq("readDefaultValues")),
    FormatSetting("recursive.fields.max.depth", int(min = -1))
  ) ++ flags("enums.as.ints", "upcast.unsigned.ints", "unwrap.primitive.wrapper.types")

  /** Options that Spark or Flink have and that this source refuses, with the reason. */
  def refused(format: Format, option: String): Option[String] = {
    val name = OptionName.normalize(option)
    if (name == "mode" || name == "columnnameofcorruptrecord")
      Some("use 'parseErrors', 'keyParseErrors' or 'valueParseErrors'.")
    else if (name == "avroschema" && format == Format.Avro) Some("use 'schema'.")
    else if (name == "messageclassname" && of(format).contains(MessageName))
      Some("it names a Java class; use 'messageName', and for the format 'protobuf' 'descriptorFile'.")
    else if (format == Format.ProtobufConfluent && DescriptorFile.named(option))
      Some("the registry has the descriptors.")
    else ofRegistry(format, name).orElse(
      Option.when(elsewhere(format)(name))("it has no effect when records are read.")
    )
  }

  /** Options of Flink about registries, for reading and writing. */
  def ofRegistry(format: Format, name: String): Option[String] =
    if (!format.hasRegistry) None
    else if (name == "schema") Some("use 'schema' without a prefix.")
    else Option.when(name.endsWith(".credentialssource"))(
      s"the credentials are those of '${RegistryOptionSpecs.UserInfo.name}' or '${RegistryOptionSpecs.Token.name}'."
    )

  private def elsewhere(format: Format): Set[String] = (format match {
    case Format.JsonConfluent => elsewhere(Format.Json)
    case Format.AvroConfluent | Format.DebeziumAvroConfluent => elsewhere(Format.Avro)
    case Format.Json | _: Format.Change =>
      Set("ignoreNullFields", "pretty", "writeNonAsciiCharacterAsCodepoint", "samplingRatio", "multiLine") ++
        Set("lineSep", "encoding", "charset", "compression", "prefersDecimal", "primitivesAsString") ++
        Set("dropFieldIfAllNull", "inferTimestamp", "singleVariantColumn", "encode.decimalAsPlainNumber") ++
        Set("mapNullKey.mode", "mapNullKey.literal", "encode.ignoreNullFields", "useUnsafeRow")
    case Format.Csv =>
      Set("header", "inferSchema", "enforceSchema", "escapeQuotes", "quoteAll", "preferDate", "multiLine") ++
        Set("samplingRatio", "lineSep", "encoding", "charset", "compression", "codec", "inputBufferSize") ++
        Set("extension", "columnPruning", "writeBigDecimalInScientificNotation", "arrayElementDelimiter")
    case Format.Avro => Set("compression", "recordName", "recordNamespace", "ignoreExtension", "codec")
    case _ => Set.empty[String]
  }).map(OptionName.normalize)
}
