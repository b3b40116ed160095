package io.github.dynamickafka.format.decode

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.csv.{CSVOptions, UnivocityParser}
import org.apache.spark.sql.catalyst.util.BadRecordException
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.SideLayout

/** Decodes a line of CSV by Spark's parser, as `from_csv` does. */
private[decode] final class CsvDecoder(side: SideLayout) extends Decoder {
  private val wanted: Array[Int] = side.wanted.toArray
  private val wantedSchema = StructType(wanted.map(side.schema(_)))
  private val parser = new UnivocityParser(
    side.schema,
    wantedSchema,
    new CSVOptions(
      side.format.options,
      true,
      SQLConf.get.sessionLocalTimeZone,
      SQLConf.get.columnNameOfCorruptRecord
    )
  )

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    try {
      parser.parse(UTF8String.fromBytes(bytes).toString).foreach(copy(_, into))
      null
    } catch {
      case bad: BadRecordException =>
        val partial = bad.partialResults().headOption
        partial.foreach(copy(_, into))
        DecodeFailure("it is not a line of CSV that fits the schema", None, partial.isEmpty)
      case NonFatal(_) =>
        into.clear()
        DecodeFailure("it is not a line of CSV", None, unparsable = true)
    }
  }

  private def copy(row: InternalRow, into: DecodedValues): Unit = {
    var i = 0
    while (i < wanted.length) {
      into.setAny(wanted(i), row.get(i, wantedSchema(i).dataType))
      i += 1
    }
  }
}
