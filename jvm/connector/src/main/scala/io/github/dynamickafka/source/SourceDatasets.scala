package io.github.dynamickafka.source

import io.github.dynamickafka.config.{ClusterOptions, ClusterScope}
import io.github.dynamickafka.lineage.TopicDataset
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.topology.Topology

/** The topics of a batch for lineage. Pure: it is called by other threads than that of the query. */
private[source] object SourceDatasets {

  /**
   * Also the topics without new records, so that the datasets of a query change only with its clusters and topics.
   *
   * @param topologies that have the clusters of the offset; the first one that has a cluster is used
   * @param end the end offset of the batch
   */
  def apply(options: ClusterOptions, topologies: Seq[Topology], end: CompositeOffset): Seq[TopicDataset] = {
    val scope = new ClusterScope(options, topologies.flatMap(_.clusters.keys).toSet)
    for {
      (id, positions) <- end.clusters.toSeq
      known = topologies.flatMap(_.clusters.get(id))
      cluster <- known.headOption.toSeq
      address = scope.consumer(id, cluster.properties).bootstrapServers
      topic <- positions.byTopic.keys.toSeq
      stream = known.flatMap(_.topics.get(topic)).headOption.map(_.stream)
      dataset <- TopicDataset.of(address, id, topic, stream)
    } yield dataset
  }
}
