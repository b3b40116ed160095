package io.github.dynamickafka.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.github.dynamickafka.format.MetadataColumn
import io.github.dynamickafka.source.read.{
  BundleReader,
  ConsumerPool,
  Decoding,
  DecodingReader,
  RangeBundle,
  ReadAhead,
  ReaderMetrics,
  SharedTask,
  SharedTaskReader,
  TaskDecoder
}
import io.github.dynamickafka.source.spark.{ClusterPartition, ClusterReader}

/**
 * Creates the readers, on executors, for the partitions of a [[BatchPlanner]].
 *
 * @param decoding None: the columns of Spark's Kafka source, then `cluster` and `stream`
 */
private[source] final class ReaderFactory(decoding: Option[Decoding]) extends PartitionReaderFactory {
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val decoder = decoding.map(new TaskDecoder(_))
    partition match {
      case bundle: RangeBundle =>
        new BundleReader(bundle, ConsumerPool.shared, ReadAhead.shared, new ReaderMetrics, decoder)
      case task: SharedTask =>
        new SharedTaskReader(task, ConsumerPool.shared, ReadAhead.shared, SharedTaskReader.threads, decoder)
      case p: ClusterPartition =>
        val reader =
          try new ClusterReader(p, p.reader.createReader(p.inner))
          catch ClusterReader.naming(p)
        decoder.fold[PartitionReader[InternalRow]](reader)(d =>
          new DecodingReader(
            reader,
            d.rows(p.cluster, p.stream),
            d.decoding.layout.has(MetadataColumn.Headers),
            () => d.finish()
          )
        )
      case other =>
        throw new IllegalArgumentException(s"not a partition of this source: ${other.getClass.getName}")
    }
  }
}
