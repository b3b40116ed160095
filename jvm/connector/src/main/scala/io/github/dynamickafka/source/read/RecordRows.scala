package io.github.dynamickafka.source.read

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.catalyst.InternalRow

/** How the records of one partition become rows. Used by the thread of the task. */
private[source] trait RecordRows {

  /** The first row of a record, valid until the next call; null if the record yields no row. */
  def of(record: ConsumerRecord[Array[Byte], Array[Byte]]): InternalRow

  /** The next row of the same record; null if there is none. */
  def more(): InternalRow = null
}
