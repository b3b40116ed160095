package io.github.dynamickafka.format.json

import org.apache.spark.sql.catalyst.expressions.StructsToJson
import org.apache.spark.sql.types.{DataType, DateType, TimestampType}

import io.github.dynamickafka.format.FormatSetting.flags
import io.github.dynamickafka.format.registry.ConfluentHeader
import io.github.dynamickafka.format.{
  DeclaredSchema,
  Decoder,
  Encoder,
  Format,
  FormatRegistry,
  FormatSetting,
  FormatWriter,
  SideFormat,
  SideLayout,
  SideSource,
  TimeSettings,
  TypeCheck
}
import io.github.dynamickafka.option.OptionType.{boolean, int}
import io.github.dynamickafka.schemaregistry.RegisteredSchema

/** Formats whose records are JSON objects. */
private[format] abstract class JsonFormat(name: String) extends Format(name) {
  override def usesTimeZone: Boolean = true
  override def settings: Seq[FormatSetting] = JsonFormat.settings

  override def withoutEffect: Set[String] =
    Set("ignoreNullFields", "pretty", "writeNonAsciiCharacterAsCodepoint", "samplingRatio", "multiLine") ++
      Set("lineSep", "encoding", "charset", "compression", "prefersDecimal", "primitivesAsString") ++
      Set("dropFieldIfAllNull", "inferTimestamp", "singleVariantColumn", "encode.decimalAsPlainNumber") ++
      Set("mapNullKey.mode", "mapNullKey.literal", "encode.ignoreNullFields", "useUnsafeRow")

  override def forDecoder(set: Map[String, String]): Map[String, String] = TimeSettings.forDecoder(set)
  override def decoder(side: SideLayout): Decoder = new JsonDecoder(side)
}

private[format] object JsonFormat {
  val settings: Seq[FormatSetting] =
    (FormatSetting.IgnoreParseErrors +: TimeSettings.ofFlink) ++ TimeSettings.reading ++
      flags(
        "allowComments",
        "allowUnquotedFieldNames",
        "allowSingleQuotes",
        "allowNumericLeadingZeros",
        "allowNonNumericNumbers",
        "allowBackslashEscapingAnyCharacter",
        "allowUnquotedControlChars"
      ) ++ Seq("maxNestingDepth", "maxNumLen", "maxStringLen").map(FormatSetting(_, int(min = 1)))
}

private[dynamickafka] object Json extends JsonFormat("json") {
  override val settings: Seq[FormatSetting] =
    FormatSetting.FailOnMissingField +: JsonFormat.settings :+ WholeVariant.setting
  override def hasVariants: Boolean = true
  override def decoder(side: SideLayout): Decoder = Json.ofObjects(side)
  override def writer: Option[FormatWriter] = Some(Writer)

  /** Of records that are objects, or one VARIANT. */
  private[json] def ofObjects(side: SideLayout): Decoder =
    if (WholeVariant.isSet(side.format)) new VariantDecoder(side) else new JsonDecoder(side)

  private[json] class Writer extends JsonWriter {
    override def settings: Seq[FormatSetting] = JsonWriter.settings :+ WholeVariant.setting
    override def encoder(fields: SideSource.Fields): Encoder =
      if (WholeVariant.isSet(fields.format)) new VariantEncoder(fields) else new JsonEncoder(fields)
  }
  private object Writer extends Writer
}

/** JSON behind the id of a JSON Schema in a registry. */
private[dynamickafka] object JsonConfluent extends JsonFormat("json-confluent") {
  override def settings: Seq[FormatSetting] = Json.settings
  override def decoder(side: SideLayout): Decoder = new ConfluentHeader(Json.ofObjects(side))
  override def hasVariants: Boolean = true
  override def registry: Option[FormatRegistry] = Some(Registry)
  override def writer: Option[FormatWriter] = Some(Writer)

  private object Registry extends FormatRegistry {
    override def kind: String = RegisteredSchema.Json

    /** JSON contains the names of its fields: the schema is only needed for the columns. */
    override def isRequired: Boolean = false

    override def columns(schema: RegisteredSchema, side: SideFormat): Either[String, DeclaredSchema] =
      JsonSchemaColumns.parse(schema).map(DeclaredSchema(_))
  }

  private object Writer extends Json.Writer {
    override def schema(fields: SideSource.Fields): Option[RegisteredSchema] =
      Some(fields.registered.getOrElse(
        RegisteredSchema(
          RegisteredSchema.Json,
          if (WholeVariant.isSet(fields.format)) JsonSchemaText.Anything
          else JsonSchemaText.of(fields.schema, ownTexts(fields.format.options))
        )
      ))

    /** Types that the options write in another way than JSON Schema's `date-time` and `date`. */
    private def ownTexts(options: Map[String, String]): Set[DataType] = {
      val standard = forEncoder(Map.empty)
      Set[DataType](TimestampType).filter(_ =>
        options.get("timestampFormat") != standard.get("timestampFormat")
      ) ++
        Set[DataType](DateType).filter(_ => options.contains("dateFormat"))
    }
  }
}

private[format] class JsonWriter extends FormatWriter {
  override def settings: Seq[FormatSetting] = JsonWriter.settings
  override def refused(option: String): Option[String] = JsonWriter.notOffered.get(option)

  override def forEncoder(set: Map[String, String]): Map[String, String] =
    Map("ignoreNullFields" -> "true") ++ TimeSettings.forEncoder(set)

  override def encoder(fields: SideSource.Fields): Encoder = new JsonEncoder(fields)

  override def problem(fields: SideSource.Fields): Option[String] =
    TypeCheck.problem(fields)((row, zone) =>
      StructsToJson(fields.format.options, row, zone).checkInputDataTypes()
    )
}

private[format] object JsonWriter extends JsonWriter {
  override val settings: Seq[FormatSetting] =
    TimeSettings.ofFlink ++ TimeSettings.writing ++ flags("pretty", "writeNonAsciiCharacterAsCodePoint") :+
      FormatSetting("ignoreNullFields", boolean, Seq("encode.ignoreNullFields"))

  private val notOffered = Map(
    "mapnullkey.mode" -> "the keys of Spark's maps are never null.",
    "mapnullkey.literal" -> "the keys of Spark's maps are never null.",
    "encode.decimalasplainnumber" -> "decimals are written as Spark's 'to_json' writes them."
  )
}
