package io.github.dynamickafka.format

import java.io.CharArrayWriter
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.csv.{CSVOptions, UnivocityGenerator, UnivocityParser}
import org.apache.spark.sql.catalyst.expressions.StructsToCsv
import org.apache.spark.sql.catalyst.util.BadRecordException
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.FormatSetting.{anything, flags, texts}
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

  override def forDecoder(set: Map[String, String]): Map[String, String] =
    Option.when(disableQuotes.isOn(set))("quote" -> "").toMap ++ (set - disableQuotes.name)

  /** The separator of `from_csv`, so that a line break does not end a record (SPARK-38955): it is not a character. */
  private[format] val LineSeparator = "\uffff"

  private[format] def parsed(options: Map[String, String]) =
    new CSVOptions(options, true, SQLConf.get.sessionLocalTimeZone, SQLConf.get.columnNameOfCorruptRecord)

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

    override def encoder(fields: SideLayout): Encoder = new CsvEncoder(fields)

    override def problem(fields: SideLayout): Option[String] =
      fields.schema.fields.find(_.dataType == BinaryType)
        .map(f => s"'${f.name}' is BINARY, which Spark's 'to_csv' does not write as text.")
        .orElse(TypeCheck.problem(fields)((row, zone) =>
          StructsToCsv(fields.format.options, row, zone).checkInputDataTypes()
        ))
  }
}

/**
 * Decodes a record of CSV by Spark's parser, as `from_csv` does. What it makes of a record does not depend on the records before,
 * although the parser is kept.
 */
private[format] final class CsvDecoder(side: SideLayout) extends Decoder {
  private val wanted: Array[Int] = side.wanted.toArray
  private val wantedSchema = side.wantedSchema
  private val options = Csv.parsed(side.format.options + ("lineSep" -> Csv.LineSeparator))
  private var shared = newParser()

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    val text = UTF8String.fromBytes(bytes).toString
    try {
      parserOf(text).parse(text).foreach(into.setAll(wanted, _, wantedSchema))
      null
    } catch {
      case bad: BadRecordException =>
        val partial = bad.partialResults().headOption
        partial.foreach(into.setAll(wanted, _, wantedSchema))
        DecodeFailure("it is not a line of CSV that fits the schema", None, partial.isEmpty)
      case NonFatal(_) =>
        // After an exception, the state of the parser is unknown.
        shared = newParser()
        into.clear()
        DecodeFailure("it is not a line of CSV")
    }
  }

  /** What follows a separator of lines would stay in the parser's buffer, and become a part of the next record. */
  private def parserOf(text: String) = if (text.contains(Csv.LineSeparator)) newParser() else shared

  private def newParser() = {
    val parser = new UnivocityParser(side.schema, wantedSchema, options)
    // In its first record, a tokenizer checks columns that it skips in later records, and skips a byte order mark.
    val _ = parser.tokenizer.parseLine("0")
    parser
  }
}

/** Encodes fields as a line of CSV without a line end, by Spark's generator, as `to_csv` does. */
private[format] final class CsvEncoder(side: SideLayout) extends Encoder {
  private val options = Csv.parsed(side.format.options)
  private val generator = new UnivocityGenerator(side.schema, new CharArrayWriter, options)

  /** The generator writes nothing for a single column that is null, but an empty line is a bad record. */
  private val noValue = s"${options.quote}${options.quote}"

  override def encode(row: InternalRow): Array[Byte] =
    Option(generator.writeToString(row)).getOrElse(noValue).getBytes(UTF_8)
}

/** The bytes, or, in Flink's `raw`, a text. */
private[dynamickafka] object Raw extends Format("raw") {
  override def wholeTypes: Seq[DataType] = Seq(BinaryType, StringType)

  override def decoder(side: SideLayout): Decoder =
    if (side.schema.headOption.exists(_.dataType == StringType)) Text.decoder(side)
    else (bytes, into) => WholeColumn.set(bytes, into)

  override def writer: Option[FormatWriter] = Some(WholeColumn)
}

private[dynamickafka] object Text extends Format("string") {
  override def wholeTypes: Seq[DataType] = Seq(StringType)

  override def decoder(side: SideLayout): Decoder =
    (bytes, into) => WholeColumn.set(UTF8String.fromBytes(bytes), into)

  override def writer: Option[FormatWriter] = Some(WholeColumn)
}

private object WholeColumn extends FormatWriter {

  def set(value: AnyRef, into: DecodedValues): DecodeFailure = {
    into.setObject(0, value)
    null
  }

  /** The bytes of the column are written as they are, without an encoder. */
  override def encoder(fields: SideLayout): Encoder =
    throw new IllegalArgumentException(s"${fields.format.format.name} has no fields")
}
