package io.github.dynamickafka.format.table

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.types.BinaryType

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{SideSource, UnencodableException, WriteContext}

/**
 * Makes the keys or the values of rows. Used by one task. Not thread-safe.
 *
 * @param side `key` or `value`, for errors
 * @param context shows the records, one after the other
 */
private[dynamickafka] final class RowEncoder(source: SideSource, side: String, context: WriteContext = null) {

  private val encode: InternalRow => Array[Byte] = source match {
    case SideSource.Column(i, BinaryType) => row => if (row.isNullAt(i)) null else row.getBinary(i)
    case SideSource.Column(i, _) => row => if (row.isNullAt(i)) null else row.getUTF8String(i).getBytes
    case fields: SideSource.Fields =>
      val project = UnsafeProjection.create(fields.input)
      val encoder = Encoders.of(fields, context)
      val format = fields.format.format.name
      row =>
        try encoder.encode(project(row))
        catch { case NonFatal(e) => throw Errors.encodeFailed(side, format, RowEncoder.reason(e)) }
  }

  /** @return null: no key, or a tombstone */
  def apply(row: InternalRow): Array[Byte] = encode(row)
}

private[format] object RowEncoder {

  /** The reason, without values of the row: of Spark's messages, only that of an overflow in a cast is known to contain none. */
  private def reason(e: Throwable): String = e match {
    case known: UnencodableException => known.getMessage
    case t: org.apache.spark.SparkThrowable if t.getCondition == "CAST_OVERFLOW_IN_TABLE_INSERT" =>
      e.getMessage.linesIterator.next()
    case t: org.apache.spark.SparkThrowable => s"${e.getClass.getSimpleName} ${t.getCondition}"
    case _: NullPointerException => "a field is null that the schema requires"
    case _ => e.getClass.getSimpleName
  }
}
