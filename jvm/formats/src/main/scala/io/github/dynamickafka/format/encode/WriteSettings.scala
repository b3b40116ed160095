package io.github.dynamickafka.format.encode

import io.github.dynamickafka.format.{Format, FormatSetting}
import io.github.dynamickafka.option.{OptionName, OptionType}

/** The options of the formats in a query that writes, by Spark's names. */
private[encode] object WriteSettings {
  import OptionType.{boolean, text}

  private val anything: OptionType[String] = OptionType("string", Right(_))
  private def texts(names: String*) = names.map(FormatSetting(_, text))
  private def flags(names: String*) = names.map(FormatSetting(_, boolean))

  private val times = texts("timeZone", "dateFormat", "timestampFormat", "timestampNTZFormat", "locale")

  /** Of Debezium: what is written has no schema in it, as in Flink. */
  private val withoutSchema = FormatSetting.SchemaInclude.copy(valueType =
    OptionType(
      boolean.label,
      s => boolean.parse(s).flatMap(b => Either.cond(!b, b, "records are written without their schema."))
    )
  )

  /**
   * Options of reading that a query which writes refuses also in the settings of a catalog: with them, what is written could not be
   * read.
   */
  val neverIgnored: Seq[FormatSetting] =
    Seq(FormatSetting.DisableQuotes, FormatSetting.DatabaseInclude, FormatSetting.TableInclude)

  def of(format: Format): Seq[FormatSetting] = format match {
    case Format.JsonConfluent => of(Format.Json)
    case Format.DebeziumJson => withoutSchema +: of(Format.Json)
    case _: Format.Change => of(Format.Json)
    case Format.Json =>
      (FormatSetting.TimestampStandard +: times) ++ flags("pretty", "writeNonAsciiCharacterAsCodePoint") :+
        FormatSetting("ignoreNullFields", boolean, Seq("encode.ignoreNullFields"))
    case Format.Csv =>
      Seq(
        FormatSetting("sep", anything, Seq("delimiter", "fieldDelimiter")),
        FormatSetting("quote", anything, Seq("quoteCharacter")),
        FormatSetting("escape", anything, Seq("escapeCharacter")),
        FormatSetting("nullValue", anything, Seq("nullLiteral")),
        FormatSetting("emptyValue", anything),
        FormatSetting("charToEscapeQuoteEscaping", anything)
      ) ++ times ++ flags("quoteAll", "escapeQuotes", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace")
    case _ => Nil
  }

  /** Why an option that Spark or Flink have is not accepted. */
  def refused(format: Format)(option: String): Option[String] = {
    val name = OptionName.normalize(option)
    val reading = FormatSetting.of(format).exists(_.named(option))
    if (format == Format.Csv && FormatSetting.DisableQuotes.named(option))
      Some("a value that contains the separator could not be read without quotes.")
    else if (neverIgnored.exists(_.named(option)) && reading)
      Some("records are written without the fields 'database' and 'table'.")
    else if (reading || name == "mode") Some("it has no effect when records are written.")
    else if (format.hasRegistry && FormatSetting.ofRegistry(format, name).isDefined)
      FormatSetting.ofRegistry(format, name)
    else if (name == "avroschema" && format == Format.Avro) Some("use 'schema'.")
    else if (format == Format.JsonConfluent) refused(Format.Json)(option)
    else NotOffered.get(asJson(format) -> name)
  }

  private def asJson(format: Format): Format = format match {
    case _: Format.Change | Format.JsonConfluent => Format.Json
    case other => other
  }

  private val NotOffered: Map[(Format, String), String] = {
    val json = Seq(
      "mapNullKey.mode" -> "the keys of Spark's maps are never null.",
      "mapNullKey.literal" -> "the keys of Spark's maps are never null.",
      "encode.decimalAsPlainNumber" -> "decimals are written as Spark's 'to_json' writes them."
    )
    val csv = Seq("header", "lineSep", "encoding", "compression", "arrayElementDelimiter", "extension")
      .map(_ -> "it has no effect in records of Kafka.")
    (json.map(Format.Json -> _) ++ csv.map(Format.Csv -> _)).map { case (format, (name, why)) =>
      (format: Format, OptionName.normalize(name)) -> why
    }.toMap
  }

  /**
   * The options for Spark. Timestamps have six digits, because Spark's own default cuts off what is below milliseconds; spaces
   * at the ends of texts are kept, which Spark's default does not do.
   */
  def forSpark(format: Format, set: Map[String, String]): Map[String, String] = asJson(format) match {
    case Format.Json => Map("ignoreNullFields" -> "true") ++ timestamps(set) ++ own(set)
    case Format.Csv =>
      Map(
        "ignoreLeadingWhiteSpace" -> "false",
        "ignoreTrailingWhiteSpace" -> "false"
      ) ++ timestamps(set) ++ own(set)
    case _ => Map.empty
  }

  private def own(set: Map[String, String]) =
    set -- Seq(FormatSetting.TimestampStandard, FormatSetting.SchemaInclude).map(_.name)

  private def timestamps(set: Map[String, String]) = {
    val isSql = set.get(FormatSetting.TimestampStandard.name).exists(_.trim.equalsIgnoreCase("SQL"))
    val local = s"yyyy-MM-dd${if (isSql) " " else "'T'"}HH:mm:ss.SSSSSS"
    Map("timestampFormat" -> s"${local}XXX", "timestampNTZFormat" -> local)
  }
}
