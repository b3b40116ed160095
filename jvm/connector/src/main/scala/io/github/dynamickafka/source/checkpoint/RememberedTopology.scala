package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.topology.{Topology, TopologyCluster}

/**
 * The clusters in the checkpoint that a composite offset can contain. Only properties on an allow-list and references to
 * secrets are stored, so that no secret is among them.
 *
 * @param current the topology of the last batch
 * @param former clusters and topics that are no longer in `current` but in the offsets
 * @param options what the command `plan` has to know of the options of the last batch
 */
private[dynamickafka] final case class RememberedTopology(
    current: Topology,
    former: Topology,
    options: SortedMap[String, String] = SortedMap.empty
)

private[dynamickafka] object RememberedTopology {
  val empty: RememberedTopology = RememberedTopology(Topology.empty, Topology.empty)

  /**
   * The state after a batch with this topology, without clusters and topics that are neither in it nor in `named`.
   *
   * @param named the topics in offsets that Spark logs, by cluster
   */
  def next(
      before: Option[RememberedTopology],
      topology: Topology,
      named: LoggedOffsets.Named
  ): RememberedTopology = {
    val current = topology.copy(
      unconfirmed = SortedMap.empty,
      histories = SortedMap.empty,
      clusters = topology.clusters.map { case (id, cluster) =>
        val kept = Redaction.storable(cluster.properties)
        val left = cluster.properties.keySet -- kept.keySet
        id -> cluster.copy(
          properties = kept,
          withheld = cluster.withheld ++ left.filter(KafkaProperties.isKnown)
        )
      }
    )
    val old = before.toSeq.flatMap(b => Seq(b.former, b.current)).flatMap(_.clusters)
    val former =
      old.groupMapReduce(_._1)(_._2)((older, newer) => newer.copy(topics = older.topics ++ newer.topics))
        .collect {
          case (id, cluster) if named.contains(id) =>
            id -> without(cluster, current.clusters.get(id), named(id))
        }
        .filter(_._2.topics.nonEmpty)
    RememberedTopology(current, Topology(SortedMap.from(former)))
  }

  private def without(cluster: TopologyCluster, current: Option[TopologyCluster], named: Set[String]) =
    cluster.copy(
      topics = cluster.topics.filter { case (t, _) => named(t) && !current.exists(_.topics.contains(t)) },
      patterns = Nil
    )
}
