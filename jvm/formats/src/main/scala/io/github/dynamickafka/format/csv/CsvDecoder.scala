package io.github.dynamickafka.format.csv

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.csv.{CSVOptions, UnivocityParser}
import org.apache.spark.sql.catalyst.util.BadRecordException
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, Decoder, SideLayout}

/**
 * Decodes a record of CSV by Spark's parser, as `from_csv` does. What it makes of a record does not depend on the records before,
 * although the parser is kept.
 */
private[format] final class CsvDecoder(side: SideLayout) extends Decoder {
  import CsvDecoder._

  private val wanted: Array[Int] = side.wanted.toArray
  private val wantedSchema = StructType(wanted.map(side.schema(_)))
  private val options = new CSVOptions(
    side.format.options + ("lineSep" -> LineSeparator),
    true,
    SQLConf.get.sessionLocalTimeZone,
    SQLConf.get.columnNameOfCorruptRecord
  )
  private var shared = newParser()

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    val text = UTF8String.fromBytes(bytes).toString
    try {
      parserOf(text).parse(text).foreach(copy(_, into))
      null
    } catch {
      case bad: BadRecordException =>
        val partial = bad.partialResults().headOption
        partial.foreach(copy(_, into))
        DecodeFailure("it is not a line of CSV that fits the schema", None, partial.isEmpty)
      case NonFatal(_) =>
        // Its state is unknown.
        shared = newParser()
        into.clear()
        DecodeFailure("it is not a line of CSV", None, unparsable = true)
    }
  }

  /** What follows a separator of lines would stay in the parser's buffer, and become a part of the next record. */
  private def parserOf(text: String) = if (text.contains(LineSeparator)) newParser() else shared

  private def newParser() = {
    val parser = new UnivocityParser(side.schema, wantedSchema, options)
    // Of its first record, a tokenizer checks columns that it skips in others, and skips a byte order mark.
    val _ = parser.tokenizer.parseLine("0")
    parser
  }

  private def copy(row: InternalRow, into: DecodedValues): Unit = {
    var i = 0
    while (i < wanted.length) {
      into.setAny(wanted(i), row.get(i, wantedSchema(i).dataType))
      i += 1
    }
  }
}

private[format] object CsvDecoder {

  /** As in `from_csv`, so that a line break does not end a record (SPARK-38955): no text has it, because it is not a character. */
  private val LineSeparator = "\uffff"
}
