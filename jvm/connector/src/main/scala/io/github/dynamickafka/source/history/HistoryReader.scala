package io.github.dynamickafka.source.history

import java.{util => ju}

import scala.annotation.tailrec

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.MetadataColumn
import io.github.dynamickafka.source.read.{RecordRow, RecordRows, TaskDecoder}

/**
 * A part of the files of a history, as their data source reads it.
 *
 * @param isColumnar whether the factory reads this part by columns, which it can only say on the driver
 */
private[source] final case class FilePart(
    part: InputPartition,
    factory: PartitionReaderFactory,
    isColumnar: Boolean
) {
  def rows: PartitionReader[InternalRow] =
    if (isColumnar) new HistoryReader.BatchRows(factory.createColumnarReader(part))
    else factory.createReader(part)
}

/**
 * A part of the files of a history.
 *
 * @param columns of its rows: those of [[HistoryRecord]], or those of the table
 * @param isDecoded whether they are those of the table
 * @param only which rows are read; None: all
 */
private[source] final case class HistoryPartition(
    files: FilePart,
    columns: Seq[Expression],
    isDecoded: Boolean,
    only: Option[RowsOfFiles],
    stream: String,
    includeHeaders: Boolean
) extends InputPartition {
  override def preferredLocations(): Array[String] = files.part.preferredLocations()
}

/** Reads a [[HistoryPartition]]. Created and used by the thread of the task. */
private[source] final class HistoryReader(partition: HistoryPartition, decoder: Option[TaskDecoder])
    extends PartitionReader[InternalRow] {

  private val rows: PartitionReader[InternalRow] = {
    val all = partition.files.rows
    partition.only.fold(all)(new HistoryReader.ChosenRows(all, _))
  }
  private val project = UnsafeProjection.create(partition.columns)
  private val several = !partition.isDecoded && decoder.exists(_.several)

  private var views = Map.empty[(String, String), RecordRows]
  private var view: RecordRows = _
  private var current: InternalRow = _

  override def next(): Boolean =
    if (partition.isDecoded) {
      val found = rows.next()
      if (found) current = project(rows.get())
      found
    } else (several && more()) || advance()

  override def get(): InternalRow = current

  override def close(): Unit = rows.close()

  private def more(): Boolean = {
    if (current ne null) current = view.more()
    current ne null
  }

  @tailrec
  private def advance(): Boolean =
    if (rows.next()) {
      val row = project(rows.get())
      val record = HistoryRecord.of(row)
      view = viewOf(HistoryRecord.cluster(row), record.topic)
      current = view.of(record)
      (current ne null) || advance()
    } else {
      current = null
      decoder.foreach(_.finish())
      false
    }

  private def viewOf(cluster: String, topic: String): RecordRows = views.getOrElse(
    (cluster, topic), {
      val made = decoder.fold[RecordRows](new RecordRow(
        partition.includeHeaders,
        UTF8String.fromString(topic),
        UTF8String.fromString(cluster),
        UTF8String.fromString(partition.stream)
      ))(_.rows(cluster, partition.stream))
      views += (cluster, topic) -> made
      made
    }
  )
}

private object HistoryReader {

  final class BatchRows(batches: PartitionReader[ColumnarBatch])
      extends PartitionReader[InternalRow] {
    private var rows = ju.Collections.emptyIterator[InternalRow]()

    @tailrec
    override def next(): Boolean = rows.hasNext || {
      if (!batches.next()) false
      else {
        rows = batches.get().rowIterator()
        next()
      }
    }
    override def get(): InternalRow = rows.next()
    override def close(): Unit = batches.close()
  }

  private final class ChosenRows(rows: PartitionReader[InternalRow], only: RowsOfFiles)
      extends PartitionReader[InternalRow] {
    private var row: InternalRow = _

    @tailrec
    override def next(): Boolean = rows.next() && {
      row = rows.get()
      only.has(row) || next()
    }
    override def get(): InternalRow = row
    override def close(): Unit = rows.close()
  }
}

/** A row with the columns of a record, as a record of Kafka. */
private[source] object HistoryRecord {

  /** The partition, the offset and other numbers of a record whose file does not have them. */
  val Unknown: Int = -1

  val columns: Seq[MetadataColumn] = {
    import MetadataColumn._
    Seq(Key, Value, Topic, Partition, Offset, Timestamp, TimestampKind, Headers, LeaderEpoch, Cluster)
  }

  val schema: StructType = StructType(columns.map(c => StructField(c.name, c.dataType)))

  def cluster(row: InternalRow): String = row.getUTF8String(ClusterIndex).toString

  def of(row: InternalRow): ConsumerRecord[Array[Byte], Array[Byte]] = {
    val (key, value) = (binary(row, 0), binary(row, 1))
    new ConsumerRecord(
      row.getUTF8String(2).toString,
      row.getInt(3),
      row.getLong(4),
      Math.floorDiv(row.getLong(5), MicrosPerMs),
      TimestampTypes.getOrElse(row.getInt(6), TimestampType.NO_TIMESTAMP_TYPE),
      if (key eq null) ConsumerRecord.NULL_SIZE else key.length,
      if (value eq null) ConsumerRecord.NULL_SIZE else value.length,
      key,
      value,
      headers(row),
      if (row.isNullAt(8)) ju.Optional.empty[Integer]() else ju.Optional.of[Integer](row.getInt(8))
    )
  }

  private def binary(row: InternalRow, index: Int): Array[Byte] =
    if (row.isNullAt(index)) null else row.getBinary(index)

  private def headers(row: InternalRow): RecordHeaders = {
    val made = new RecordHeaders
    if (!row.isNullAt(7)) {
      val all = row.getArray(7)
      (0 until all.numElements()).foreach { i =>
        val header = all.getStruct(i, 2)
        made.add(header.getUTF8String(0).toString, binary(header, 1))
      }
    }
    made
  }

  private val ClusterIndex = 9
  private val MicrosPerMs = 1000L
  private val TimestampTypes = TimestampType.values.map(t => t.id -> t).toMap
}
