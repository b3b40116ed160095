package io.github.dynamickafka.sink

import io.github.dynamickafka.config.{ClusterRouting, SinkOptions}
import io.github.dynamickafka.schemaregistry.{Frame, SchemaRegistrar}
import io.github.dynamickafka.sink.row.InputColumns
import io.github.dynamickafka.topology.{Topology, WriteEntry}

/** What precedes keys and values on the clusters that a query writes to, whose registries the metadata may change. */
private[sink] final class ClusterFrames(
    options: SinkOptions,
    columns: InputColumns,
    registrar: SchemaRegistrar = SchemaRegistrar.shared
) {

  /** By cluster id, where the metadata says something about the registry. */
  def of(topology: Topology): Map[String, Seq[Frame]] = (for {
    stream <- options.streamId.flatMap(topology.streams.get).toSeq
    entry <- stream.clusters
    registry = options.clusterRegistries.of(entry.registry) if registry.nonEmpty
  } yield entry.cluster ->
    columns.frames.map(frame => frame.copy(registries = frame.registries.in(registry)))).toMap

  /**
   * The ids of the schemas of all records whose cluster and topic do not depend on their rows, so that a schema that is missing or
   * refused is found before anything is written. For all others, tasks ask at their first record: a schema is not registered for a
   * topic that gets none.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException see [[SchemaRegistrar.id]]
   */
  def ids(topology: Topology, ofClusters: Map[String, Seq[Frame]]): Map[Frame.Place, Int] =
    (for {
      entry <- targets(topology)
      topic <- entry.only.toSeq
      frame <- ofClusters.getOrElse(entry.cluster, columns.frames)
    } yield Frame.Place(entry.cluster, topic, frame.ofKeys) -> frame.id(
      entry.cluster,
      topic,
      registrar
    )).toMap

  private def targets(topology: Topology): Seq[WriteEntry] =
    if (columns.hasStream || columns.hasCluster) Nil
    else options.streamId.flatMap(topology.streams.get).toSeq.flatMap { stream =>
      options.routing match {
        case ClusterRouting.First => stream.first.toSeq
        case ClusterRouting.Key | ClusterRouting.All => stream.writable
      }
    }
}
