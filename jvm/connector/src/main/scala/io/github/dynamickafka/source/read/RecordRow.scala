package io.github.dynamickafka.source.read

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BaseGenericInternalRow, GenericInternalRow}
import org.apache.spark.sql.catalyst.util.{ArrayData, DateTimeUtils, GenericArrayData}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.{Errors, RecordPlace}

/** How the records of one partition become rows. Used by the thread of the task. */
private[source] trait RecordRows {

  /** The first row of a record, valid until the next call; null if the record yields no row. */
  def of(record: ConsumerRecord[Array[Byte], Array[Byte]]): InternalRow

  /** The next row of the same record; null if there is none. */
  def more(): InternalRow = null
}

/**
 * A Kafka record as a row: the columns of Spark's Kafka source, then `cluster` and `stream`. It is a view, so that
 * Spark copies the values once, directly from the record. One object is reused for all records of a partition, as in
 * Spark's readers. It has the getters for the types of these columns; it inherits the others, including those that
 * later versions of Spark add.
 */
private[source] final class RecordRow(
    includeHeaders: Boolean,
    topic: UTF8String,
    cluster: UTF8String,
    stream: UTF8String
) extends BaseGenericInternalRow
    with RecordRows {
  import RecordRow._

  private val tags = if (includeHeaders) Headers + 1 else Headers
  private var record: ConsumerRecord[Array[Byte], Array[Byte]] = _

  override def of(next: ConsumerRecord[Array[Byte], Array[Byte]]): InternalRow = {
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
    if (i == Offset) record.offset else micros(record, cluster, stream)

  override def getArray(i: Int): ArrayData = headers(record)

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
    throw new UnsupportedOperationException("a Kafka record is read-only")
}

private[source] object RecordRow {

  /** The headers of a record as Spark's Kafka source represents them. */
  def headers(record: ConsumerRecord[Array[Byte], Array[Byte]]): ArrayData =
    new GenericArrayData(record.headers.toArray.map { header =>
      new GenericInternalRow(Array[Any](UTF8String.fromString(header.key), header.value))
    })

  /** Whether the time of a record is one of Spark's: Kafka takes any number, also one of nanoseconds. */
  def hasTime(record: ConsumerRecord[Array[Byte], Array[Byte]]): Boolean =
    record.timestamp <= MostMillis && record.timestamp >= -MostMillis

  /** @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException DECODE_FAILED */
  def micros(record: ConsumerRecord[Array[Byte], Array[Byte]], cluster: Any, stream: Any): Long =
    if (hasTime(record)) DateTimeUtils.millisToMicros(record.timestamp)
    else {
      val place =
        RecordPlace(stream.toString, cluster.toString, record.topic, record.partition, record.offset)
      throw Errors.decodeFailed(place, "timestamp", "TIMESTAMP", None, NoTime)
    }

  private val MostMillis = Long.MaxValue / 1000
  val NoTime =
    "its timestamp is too large for milliseconds since 1970: its producer has written another unit"

  // `final val` without a type, so that the compiler inlines them.
  private final val Key = 0
  private final val Value = 1
  private final val Topic = 2
  private final val Partition = 3
  private final val Offset = 4
  private final val Timestamp = 5
  private final val TimestampType = 6
  private final val Headers = 7
}
