package io.github.dynamickafka.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.github.dynamickafka.source.read.{
  BundleReader,
  ConsumerPool,
  RangeBundle,
  ReadAhead,
  ReaderMetrics,
  SharedTask,
  SharedTaskReader
}
import io.github.dynamickafka.source.spark.{ClusterPartition, ClusterReader}

/** Creates the readers, on executors, for the partitions of a [[BatchPlanner]]. */
private[source] object ReaderFactory extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case bundle: RangeBundle =>
      new BundleReader(bundle, ConsumerPool.shared, ReadAhead.shared, new ReaderMetrics)
    case task: SharedTask =>
      new SharedTaskReader(task, ConsumerPool.shared, ReadAhead.shared, SharedTaskReader.threads)
    case p: ClusterPartition =>
      try new ClusterReader(p, p.reader.createReader(p.inner))
      catch ClusterReader.naming(p)
    case other =>
      throw new IllegalArgumentException(s"not a partition of this source: ${other.getClass.getName}")
  }
}
