package io.github.dynamickafka.format.json

import java.io.CharArrayWriter
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonGenerator}
import org.apache.spark.sql.internal.SQLConf

import io.github.dynamickafka.format.Encoder
import io.github.dynamickafka.format.SideSource.Fields

/** Encodes fields as a JSON object, with the results of Spark's `to_json`. */
private[format] final class JsonEncoder(side: Fields) extends Encoder {
  private val text = new CharArrayWriter
  private val generator = new JacksonGenerator(
    side.schema,
    text,
    new JSONOptions(
      side.format.options,
      SQLConf.get.sessionLocalTimeZone,
      SQLConf.get.columnNameOfCorruptRecord
    )
  )

  override def encode(row: InternalRow): Array[Byte] = {
    text.reset()
    generator.write(row)
    generator.flush()
    text.toString.getBytes(UTF_8)
  }
}
