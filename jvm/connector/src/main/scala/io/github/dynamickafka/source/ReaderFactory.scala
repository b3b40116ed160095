package io.github.dynamickafka.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.github.dynamickafka.source.history.{HistoryPartition, HistoryReader}
import io.github.dynamickafka.source.read.{
  BundleReader,
  ConsumerPool,
  Decoding,
  RangeBundle,
  ReadAhead,
  ReaderMetrics,
  SharedTask,
  SharedTaskReader,
  TaskDecoder,
  TaskTimes
}
import io.github.dynamickafka.source.realtime.{RealTimeReader, RealTimeReaders, RealTimeTask}

/**
 * Creates the readers, on executors, for the partitions of a [[BatchPlanner]], and for those of histories.
 *
 * @param decoding None: the columns of Spark's Kafka source, then `cluster` and `stream`
 * @param times gets the times of the records
 */
private[source] final class ReaderFactory(decoding: Option[Decoding], times: Option[TaskTimes] = None)
    extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val decoder = decoding.map(new TaskDecoder(_))
    partition match {
      case bundle: RangeBundle =>
        new BundleReader(bundle, ConsumerPool.shared, ReadAhead.shared, new ReaderMetrics, decoder, times)
      case history: HistoryPartition => new HistoryReader(history, decoder)
      case task: SharedTask =>
        new SharedTaskReader(
          task,
          ConsumerPool.shared,
          ReadAhead.shared,
          SharedTaskReader.threads,
          decoder,
          times
        )
      case task: RealTimeTask => RealTimeReaders.of(new RealTimeReader(task, ConsumerPool.shared, decoder))
      case other =>
        throw new IllegalArgumentException(s"not a partition of this source: ${other.getClass.getName}")
    }
  }
}
