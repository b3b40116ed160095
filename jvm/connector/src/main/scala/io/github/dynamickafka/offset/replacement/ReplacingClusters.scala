package io.github.dynamickafka.offset.replacement

import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.topology.{Topology, TopologyCluster}

/**
 * Clusters that take the place of others by `replaces` in the metadata. Pure.
 *
 * @param former the id of the cluster that is replaced, by the id of the one that enters now
 * @param start the positions of the query, without those that were retained of a cluster that enters: it was left for another one,
 *              whose records it has got meanwhile
 * @param topology without topics of clusters that have to wait, because the one that they replace is still read
 */
private[dynamickafka] final case class ReplacingClusters(
    former: Map[String, String],
    start: CompositeOffset,
    topology: Topology
)

private[dynamickafka] object ReplacingClusters {

  /** @param drainRemoved whether clusters that leave the topology are drained first */
  def apply(start: CompositeOffset, topology: Topology, drainRemoved: Boolean): ReplacingClusters = {
    val former = for {
      (id, cluster) <- topology.clusters.toMap
      other <- cluster.replaces
      if start.position(id).isEmpty && lastRead(start, other) > lastRead(start, id)
    } yield id -> other
    if (former.isEmpty) ReplacingClusters(former, start, topology)
    else {
      val (waiting, entering) = former.partition { case (id, other) =>
        isRead(start, topology, topology.clusters(id), other, drainRemoved)
      }
      ReplacingClusters(
        entering,
        if (entering.keys.exists(start.retained.contains))
          // Another Kafka cluster may have the id now, and it is the other one that it is compared with.
          start.copy(
            retained = start.retained -- entering.keys,
            identities = start.identities -- entering.keys
          )
        else start,
        if (waiting.isEmpty) topology
        else
          topology.copy(clusters = topology.clusters.map { case (id, cluster) =>
            id -> (if (waiting.contains(id)) cluster.withoutTopics else cluster)
          })
      )
    }
  }

  /** When a cluster was last read; the least number if it is not known. */
  private def lastRead(start: CompositeOffset, id: String): Long =
    if (start.position(id).nonEmpty) Long.MaxValue
    else start.retained.get(id).flatMap(_.topics.values.map(_.since).maxOption).getOrElse(Long.MinValue)

  /** Whether a cluster that is replaced is read further in the same streams: it drains, or its removal is not confirmed. */
  private def isRead(
      start: CompositeOffset,
      topology: Topology,
      by: TopologyCluster,
      id: String,
      drainRemoved: Boolean
  ): Boolean = {
    val streams = streamsOf(by)
    val named = topology.clusters.get(id).fold(Map.empty[String, String])(_.topics.map { case (topic, of) =>
      topic -> of.stream
    }.toMap)
    start.position(id).topics.exists { topic =>
      named.get(topic).fold(drainRemoved && !topology.removes(id, topic))(streams)
    }
  }

  private def streamsOf(cluster: TopologyCluster): Set[String] =
    cluster.topics.valuesIterator.map(_.stream).toSet ++ cluster.patterns.map(_.topic.stream)
}
