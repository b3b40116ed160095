package io.github.dynamickafka.format.csv

import java.io.CharArrayWriter
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.csv.{CSVOptions, UnivocityGenerator}
import org.apache.spark.sql.internal.SQLConf

import io.github.dynamickafka.format.Encoder
import io.github.dynamickafka.format.SideSource.Fields

/** Encodes fields as a line of CSV without a line end, by Spark's generator, as `to_csv` does. */
private[format] final class CsvEncoder(side: Fields) extends Encoder {
  private val options = new CSVOptions(
    side.format.options,
    true,
    SQLConf.get.sessionLocalTimeZone,
    SQLConf.get.columnNameOfCorruptRecord
  )
  private val generator = new UnivocityGenerator(side.schema, new CharArrayWriter, options)

  /** The generator writes nothing for a single column that is null, but an empty line is a bad record. */
  private val noValue = s"${options.quote}${options.quote}"

  override def encode(row: InternalRow): Array[Byte] =
    Option(generator.writeToString(row)).getOrElse(noValue).getBytes(UTF_8)
}
