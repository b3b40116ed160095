package io.github.dynamickafka.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String, VariantVal}

/**
 * A row of the wrapped reader with the columns `cluster` and `stream` at its end. One object serves a whole
 * partition, row after row, as with Spark's own readers. What `JoinedRow` is for any two rows, but this is on the
 * path of every record, and only two columns need a choice.
 */
private[source] final class TaggedRow(cluster: UTF8String, stream: UTF8String) extends InternalRow {
  private var row: InternalRow = _
  private var columns = 0

  def of(next: InternalRow): InternalRow = {
    row = next
    columns = next.numFields
    this
  }

  override def numFields: Int = columns + 2
  override def isNullAt(i: Int): Boolean = i < columns && row.isNullAt(i)
  override def getUTF8String(i: Int): UTF8String = if (i < columns) row.getUTF8String(i) else tag(i)
  override def get(i: Int, dataType: DataType): AnyRef = if (i < columns) row.get(i, dataType) else tag(i)
  override def copy(): InternalRow = new TaggedRow(cluster, stream).of(row.copy())

  override def getBinary(i: Int): Array[Byte] = row.getBinary(i)
  override def getInt(i: Int): Int = row.getInt(i)
  override def getLong(i: Int): Long = row.getLong(i)
  override def getArray(i: Int): ArrayData = row.getArray(i)
  override def getBoolean(i: Int): Boolean = row.getBoolean(i)
  override def getByte(i: Int): Byte = row.getByte(i)
  override def getShort(i: Int): Short = row.getShort(i)
  override def getFloat(i: Int): Float = row.getFloat(i)
  override def getDouble(i: Int): Double = row.getDouble(i)
  override def getDecimal(i: Int, precision: Int, scale: Int): Decimal = row.getDecimal(i, precision, scale)
  override def getInterval(i: Int): CalendarInterval = row.getInterval(i)
  override def getVariant(i: Int): VariantVal = row.getVariant(i)
  override def getStruct(i: Int, fields: Int): InternalRow = row.getStruct(i, fields)
  override def getMap(i: Int): MapData = row.getMap(i)

  override def setNullAt(i: Int): Unit = throw new UnsupportedOperationException("rows of a source are read only")
  override def update(i: Int, value: Any): Unit =
    throw new UnsupportedOperationException("rows of a source are read only")

  private def tag(i: Int): UTF8String = if (i == columns) cluster else stream
}
