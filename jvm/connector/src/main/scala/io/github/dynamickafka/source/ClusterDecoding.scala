package io.github.dynamickafka.source

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.source.read.Decoding
import io.github.dynamickafka.topology.Topology

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
