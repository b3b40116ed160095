package io.github.dynamickafka.source.read

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BaseGenericInternalRow, GenericInternalRow}
import org.apache.spark.sql.catalyst.util.{ArrayData, DateTimeUtils, GenericArrayData}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A record of Kafka as a row: Spark's Kafka columns, then `cluster` and `stream`. It is a view: Spark copies what it
 * needs once, straight from the record. One object serves the records of a partition one after the other, as Spark's
 * own readers do. Getters for the types of the columns are here; those for others come from Spark, and so do the
 * ones for types that later versions add.
 */
private[source] final class RecordRow(
    includeHeaders: Boolean,
    topic: UTF8String,
    cluster: UTF8String,
    stream: UTF8String
) extends BaseGenericInternalRow {
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

  override protected def genericGet(i: Int): Any =
    if (isNullAt(i)) null
    else i match {
      case Key | Value => getBinary(i)
      case Partition | TimestampType => getInt(i)
      case Offset | Timestamp => getLong(i)
      case Headers if includeHeaders => getArray(i)
      case _ => getUTF8String(i)
    }

  override def setNullAt(i: Int): Unit = readOnly()
  override def update(i: Int, value: Any): Unit = readOnly()

  private def readOnly(): Nothing =
    throw new UnsupportedOperationException("a record of Kafka is read only")
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
