package io.github.dynamickafka.source.realtime

import java.{lang => jl}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead.RecordStatus
import org.apache.spark.sql.connector.read.streaming.{
  Offset,
  PartitionOffset,
  SupportsRealTimeMode,
  SupportsRealTimeRead
}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}

import io.github.dynamickafka.offset.CompositeOffset

/** A stream that can be read in real-time mode. Spark calls these methods from the thread of the query. */
private[source] trait RealTimeStream extends SupportsRealTimeMode {
  protected def realTime: RealTimeBatches

  override def prepareForRealTimeMode(): Unit = realTime.prepare()

  override def planInputPartitions(start: Offset): Array[InputPartition] =
    realTime.partitions(start.asInstanceOf[CompositeOffset])

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset =
    realTime.end(offsets.toSeq.collect { case ReportedPositions(task) => task })
}

/** What a task reports to Spark when it ends. */
private final case class ReportedPositions(task: TaskPositions) extends PartitionOffset

private[source] object RealTimeReaders {
  def of(reader: => RealTimeReader): PartitionReader[InternalRow] = new OfSpark(reader)

  /** Without `override`: Spark 4.1 has the method with one argument, 4.2.0 that with two, later versions have both. */
  private final class OfSpark(reader: RealTimeReader) extends SupportsRealTimeRead[InternalRow] {

    def nextWithTimeout(timeoutMs: jl.Long): RecordStatus =
      RecordStatus.newStatusWithoutArrivalTime(reader.next(timeoutMs))

    def nextWithTimeout(@annotation.unused startMs: jl.Long, timeoutMs: jl.Long): RecordStatus =
      nextWithTimeout(timeoutMs)

    override def next(): Boolean = reader.next(Long.MaxValue)
    override def get(): InternalRow = reader.get()
    override def getOffset(): PartitionOffset = ReportedPositions(reader.positions())
    override def close(): Unit = reader.close()
  }
}
