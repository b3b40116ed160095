package io.github.dynamickafka.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.github.dynamickafka.source.read.{
  BundleReader,
  ConsumerPool,
  Decoding,
  HistoryPartition,
  HistoryReader,
  RangeBundle,
  ReadAhead,
  ReaderMetrics,
  SharedTask,
  SharedTaskReader,
  TaskDecoder
}

/**
 * Creates the readers, on executors, for the partitions of a [[BatchPlanner]], and for those of histories.
 *
 * @param decoding None: the columns of Spark's Kafka source, then `cluster` and `stream`
 */
private[source] final class ReaderFactory(decoding: Option[Decoding]) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val decoder = decoding.map(new TaskDecoder(_))
    partition match {
      case bundle: RangeBundle =>
        new BundleReader(bundle, ConsumerPool.shared, ReadAhead.shared, new ReaderMetrics, decoder)
      case history: HistoryPartition => new HistoryReader(history, decoder)
      case task: SharedTask =>
        new SharedTaskReader(task, ConsumerPool.shared, ReadAhead.shared, SharedTaskReader.threads, decoder)
      case other =>
        throw new IllegalArgumentException(s"not a partition of this source: ${other.getClass.getName}")
    }
  }
}
