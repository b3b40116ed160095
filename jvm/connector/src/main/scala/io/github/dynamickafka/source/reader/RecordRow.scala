package io.github.dynamickafka.source.reader

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, DateTimeUtils, GenericArrayData, MapData}
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String, VariantVal}

/**
 * A record of Kafka as a row: Spark's Kafka columns, then `cluster` and `stream`. It is a view: Spark copies what it
 * needs once, straight from the record. One object serves the records of a partition one after the other, as Spark's
 * own readers do.
 */
private[source] final class RecordRow(
    includeHeaders: Boolean,
    topic: UTF8String,
    cluster: UTF8String,
    stream: UTF8String
) extends InternalRow {
  import RecordRow._

  private val tags = if (includeHeaders) Headers + 1 else Headers
  private var record: ConsumerRecord[Array[Byte], Array[Byte]] = _

  def of(next: ConsumerRecord[Array[Byte], Array[Byte]]): InternalRow = {
    record = next
    this
  }

  override def numFields: Int = tags + 2

  override def isNullAt(i: Int): Boolean = i match {
    case Key => record.key == null
    case Value => record.value == null
    case Headers => includeHeaders && !record.headers.iterator.hasNext
    case _ => false
  }

  override def getBinary(i: Int): Array[Byte] = if (i == Key) record.key else record.value

  override def getUTF8String(i: Int): UTF8String =
    if (i == Topic) topic else if (i == tags) cluster else stream

  override def getInt(i: Int): Int = if (i == Partition) record.partition else record.timestampType.id

  override def getLong(i: Int): Long =
    if (i == Offset) record.offset else DateTimeUtils.millisToMicros(record.timestamp)

  override def getArray(i: Int): ArrayData = {
    val found = record.headers.toArray
    new GenericArrayData(found.map { header =>
      new GenericInternalRow(Array[Any](UTF8String.fromString(header.key), header.value))
    })
  }

  override def get(i: Int, dataType: DataType): AnyRef =
    if (isNullAt(i)) null
    else i match {
      case Key | Value => getBinary(i)
      case Partition | TimestampType => Int.box(getInt(i))
      case Offset | Timestamp => Long.box(getLong(i))
      case Headers if includeHeaders => getArray(i)
      case _ => getUTF8String(i)
    }

  override def copy(): InternalRow = new RecordRow(includeHeaders, topic, cluster, stream).of(record)

  override def getBoolean(i: Int): Boolean = noSuch(i)
  override def getByte(i: Int): Byte = noSuch(i)
  override def getShort(i: Int): Short = noSuch(i)
  override def getFloat(i: Int): Float = noSuch(i)
  override def getDouble(i: Int): Double = noSuch(i)
  override def getDecimal(i: Int, precision: Int, scale: Int): Decimal = noSuch(i)
  override def getInterval(i: Int): CalendarInterval = noSuch(i)
  override def getVariant(i: Int): VariantVal = noSuch(i)
  override def getStruct(i: Int, fields: Int): InternalRow = noSuch(i)
  override def getMap(i: Int): MapData = noSuch(i)
  override def setNullAt(i: Int): Unit = noSuch(i)
  override def update(i: Int, value: Any): Unit = noSuch(i)

  private def noSuch(i: Int): Nothing =
    throw new UnsupportedOperationException(s"column $i of a Kafka record has another type, and is read only")
}

private[source] object RecordRow {
  // Constants of the form that the compiler puts into place.
  private final val Key = 0
  private final val Value = 1
  private final val Topic = 2
  private final val Partition = 3
  private final val Offset = 4
  private final val Timestamp = 5
  private final val TimestampType = 6
  private final val Headers = 7
}
