package io.github.dynamickafka.source.read

import java.util.Optional

import scala.annotation.tailrec

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader

/**
 * Decodes the rows of Spark's Kafka reader, which reads if delegation tokens are configured. It gives no leader epochs.
 *
 * @param withHeaders whether the rows have the column `headers`
 * @param finish runs at the end of the records
 */
private[source] final class DecodingReader(
    inner: PartitionReader[InternalRow],
    rows: RecordRows,
    withHeaders: Boolean,
    finish: () => Unit
) extends PartitionReader[InternalRow] {
  private var current: InternalRow = _

  override def next(): Boolean = {
    if (current ne null) current = rows.more()
    (current ne null) || advance() || {
      finish()
      false
    }
  }

  @tailrec
  private def advance(): Boolean = inner.next() && {
    current = rows.of(record(inner.get()))
    (current ne null) || advance()
  }

  override def get(): InternalRow = current
  override def close(): Unit = inner.close()
  override def currentMetricsValues(): Array[CustomTaskMetric] = inner.currentMetricsValues()

  private def record(row: InternalRow) = {
    val (key, value) = (bytes(row, 0), bytes(row, 1))
    val headers = new RecordHeaders
    if (withHeaders && !row.isNullAt(7)) {
      val found = row.getArray(7)
      (0 until found.numElements()).foreach { i =>
        val header = found.getStruct(i, 2)
        val _ = headers.add(header.getUTF8String(0).toString, bytes(header, 1))
      }
    }
    new ConsumerRecord[Array[Byte], Array[Byte]](
      row.getUTF8String(2).toString,
      row.getInt(3),
      row.getLong(4),
      row.getLong(5) / 1000L,
      TimestampType.values.find(_.id == row.getInt(6)).getOrElse(TimestampType.NO_TIMESTAMP_TYPE),
      ConsumerRecord.NULL_SIZE,
      ConsumerRecord.NULL_SIZE,
      key,
      value,
      headers,
      Optional.empty[Integer]()
    )
  }

  private def bytes(row: InternalRow, i: Int): Array[Byte] = if (row.isNullAt(i)) null else row.getBinary(i)
}
