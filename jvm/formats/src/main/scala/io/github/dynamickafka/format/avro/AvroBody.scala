package io.github.dynamickafka.format.avro

import scala.util.control.NonFatal

import org.apache.avro.generic.GenericDatumReader
import org.apache.avro.{AvroTypeException, Schema}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.format.{DecodedValues, SideLayout}

/**
 * Decodes the records of one Avro schema. Not thread-safe.
 *
 * @param writer the schema that the records were written with
 * @param reader the schema to read them with; the same as `writer`, or Avro resolves one to the other
 * @param show shows a record of the reader's schema in values that are clear
 */
private[format] final class AvroBody(writer: Schema, reader: Schema, show: (Any, DecodedValues) => Unit) {
  private val datums = new GenericDatumReader[Any](writer, reader)
  private val in = new AvroBytes
  private var record: Any = _

  /**
   * @param from where the record begins
   * @return null if the record is good, otherwise the reason, which contains nothing of the record
   */
  def decode(bytes: Array[Byte], from: Int, into: DecodedValues): String = {
    into.clear()
    try {
      in.reset(bytes, from)
      record = datums.read(record, in)
      if (!in.isEnd) "bytes are left after the record"
      else {
        show(record, into)
        null
      }
    } catch {
      case _: AvroTypeException =>
        bad(into, "the schema it was written with cannot be resolved to that of the query")
      case e: AvroMismatch => bad(into, e.getMessage)
      case _: ArithmeticException => bad(into, "a number or time is too large for its column")
      case NonFatal(_) => bad(into, "it is not an Avro record of the schema")
      // A schema that contains itself, in a record that is nested too deeply.
      case _: StackOverflowError => bad(into, "it is nested too deeply")
    }
  }

  private def bad(into: DecodedValues, reason: String): String = {
    // Its state is unknown.
    record = null
    into.clear()
    reason
  }

}

private[format] object AvroBody {

  /** With the fields of the reader's schema as columns, by Spark's conversion. */
  def apply(writer: Schema, reader: Schema, side: SideLayout): AvroBody = {
    val wanted: Array[Int] = side.wanted.toArray
    val wantedSchema = StructType(wanted.map(side.schema(_)))
    val toRow = AvroRows(reader, wantedSchema, side.format.options)
    def copy(row: InternalRow, into: DecodedValues): Unit = {
      var i = 0
      while (i < wanted.length) {
        into.setAny(wanted(i), row.get(i, wantedSchema(i).dataType))
        i += 1
      }
    }
    new AvroBody(writer, reader, (record, into) => copy(toRow(record), into))
  }
}
