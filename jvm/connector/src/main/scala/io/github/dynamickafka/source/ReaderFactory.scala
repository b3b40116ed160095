package io.github.dynamickafka.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.metadata.Topology
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

/** Adds the registries of clusters, which topologies name, to the decoding of a query. */
private[source] object ClusterDecoding {

  /**
   * @param topologies those that a batch may read, the newest one last
   * @throws DynamicKafkaIllegalArgumentException MISSING_OPTION for a cluster without a registry, before a task finds it
   */
  def of(base: Decoding, options: SourceOptions, topologies: Seq[Topology]): Decoding = {
    val registries = (for {
      topology <- topologies
      (id, cluster) <- topology.clusters.toSeq
      topic <- cluster.topics.values.toSeq ++ cluster.patterns.map(_.topic)
    } yield (id, topic.stream) -> topic.registry).toMap.map { case (of, metadata) =>
      of -> options.clusterRegistries.of(metadata)
    }
    for {
      ((cluster, _), registry) <- registries
      layout = base.layout.in(registry)
      side <- layout.value +: layout.key.toSeq if side.format.format.registry.exists(_.isRequired)
    } {
      val _ = side.format.registries.of(cluster)
    }
    base.copy(registries = registries)
  }
}
