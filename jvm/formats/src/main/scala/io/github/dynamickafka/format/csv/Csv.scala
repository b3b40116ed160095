package io.github.dynamickafka.format.csv

import org.apache.spark.sql.catalyst.expressions.StructsToCsv
import org.apache.spark.sql.types.BinaryType

import io.github.dynamickafka.format.FormatSetting.{anything, flags, texts}
import io.github.dynamickafka.format.{
  Decoder,
  Encoder,
  Format,
  FormatSetting,
  FormatWriter,
  SideLayout,
  SideSource,
  TimeSettings,
  TypeCheck
}
import io.github.dynamickafka.option.OptionType.{boolean, int}

/** One line of CSV. */
private[dynamickafka] object Csv extends Format("csv") {
  override def usesTimeZone: Boolean = true

  /** For Flink's `disable-quote-character`. */
  private val disableQuotes = FormatSetting(
    "disableQuoteCharacter",
    boolean,
    refusedInWrites = Some("a value that contains the separator could not be read without quotes.")
  )

  private val characters = Seq(
    FormatSetting("sep", anything, Seq("delimiter", "fieldDelimiter")),
    FormatSetting("quote", anything, Seq("quoteCharacter")),
    FormatSetting("escape", anything, Seq("escapeCharacter")),
    FormatSetting("nullValue", anything, Seq("nullLiteral")),
    FormatSetting("emptyValue", anything)
  )

  override val settings: Seq[FormatSetting] =
    Seq(FormatSetting.IgnoreParseErrors, disableQuotes) ++ characters ++
      Seq("comment", "charToEscapeQuoteEscaping").map(FormatSetting(_, anything)) ++ TimeSettings.reading ++
      texts("nanValue", "positiveInf", "negativeInf", "unescapedQuoteHandling") ++
      flags("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace") ++
      Seq("maxColumns", "maxCharsPerColumn").map(FormatSetting(_, int(min = -1)))

  override def withoutEffect: Set[String] =
    Set("header", "inferSchema", "enforceSchema", "escapeQuotes", "quoteAll", "preferDate", "multiLine") ++
      Set("samplingRatio", "lineSep", "encoding", "charset", "compression", "codec", "inputBufferSize") ++
      Set("extension", "columnPruning", "writeBigDecimalInScientificNotation", "arrayElementDelimiter")

  override def forDecoder(set: Map[String, String]): Map[String, String] = {
    val quotes =
      if (set.get(disableQuotes.name).exists(_.trim.toBoolean)) Map("quote" -> "")
      else Map.empty[String, String]
    quotes ++ (set - disableQuotes.name)
  }

  override def decoder(side: SideLayout): Decoder = new CsvDecoder(side)

  override def writer: Option[FormatWriter] = Some(Writer)

  private object Writer extends FormatWriter {
    override val settings: Seq[FormatSetting] =
      (characters :+ FormatSetting("charToEscapeQuoteEscaping", anything)) ++ TimeSettings.writing ++
        flags("quoteAll", "escapeQuotes", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace")

    private val inFilesOnly =
      Set("header", "linesep", "encoding", "compression", "arrayelementdelimiter", "extension")

    override def refused(option: String): Option[String] =
      Option.when(inFilesOnly(option))("it has no effect in records of Kafka.")

    /** Spaces at the ends of texts are kept, which Spark's default does not do. */
    override def forEncoder(set: Map[String, String]): Map[String, String] =
      Map("ignoreLeadingWhiteSpace" -> "false", "ignoreTrailingWhiteSpace" -> "false") ++
        TimeSettings.forEncoder(set)

    override def encoder(fields: SideSource.Fields): Encoder = new CsvEncoder(fields)

    override def problem(fields: SideSource.Fields): Option[String] =
      fields.schema.fields.find(_.dataType == BinaryType)
        .map(f => s"'${f.name}' is BINARY, which Spark's 'to_csv' does not write as text.")
        .orElse(TypeCheck.problem(fields)((row, zone) =>
          StructsToCsv(fields.format.options, row, zone).checkInputDataTypes()
        ))
  }
}
