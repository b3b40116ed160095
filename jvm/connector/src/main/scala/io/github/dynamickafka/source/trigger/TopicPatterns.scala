package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterStreams}
import io.github.dynamickafka.time.Clock
import io.github.dynamickafka.topology.{Topology, TopologyCluster, TopologyPattern}

/**
 * Resolves the topic patterns of the metadata. The topics of a cluster are listed at the same interval as the metadata
 * service is polled. Used only by the thread of the query.
 *
 * @param intervalMs the interval between two listings of a cluster; -1: only one listing
 */
private[source] final class TopicPatterns(intervalMs: Long, streams: ClusterStreams, clock: Clock) {
  import TopicPatterns._

  private var listings = Map.empty[String, Listing]

  /**
   * Returns the topology with all matching topics, and the clusters whose topics have never been listed successfully:
   * for these, the topics that the query already reads are used.
   *
   * @param config the configuration of a cluster
   * @param pinned whether existing listings are final
   * @param superseded as in [[ClusterStreams.ask]]; the result is then None
   */
  def expand(
      topology: Topology,
      start: CompositeOffset,
      config: TopologyCluster => ClusterConfig,
      pinned: Boolean,
      superseded: Set[String] => Boolean
  ): Option[(Topology, Set[String])] = {
    val open = topology.clusters.filter(_._2.patterns.nonEmpty)
    listings = listings.filter { case (id, l) => open.get(id).exists(c => l.isOf(c)) }
    val due = open.filter { case (id, _) => listings.get(id).forall(l => !pinned && isOld(l)) }
    if (due.isEmpty) Some(expanded(topology, open, start))
    else {
      streams.add(due.map { case (id, cluster) => id -> config(cluster) })
      streams.topics(due.keySet.toSet, superseded).map { answers =>
        listings ++= answers.collect { case (id, Some(topics)) =>
          id -> Listing(open(id).patterns, open(id).properties, topics, clock.monotonicMs())
        }
        expanded(topology, open, start)
      }
    }
  }

  private def expanded(
      topology: Topology,
      open: SortedMap[String, TopologyCluster],
      start: CompositeOffset
  ): (Topology, Set[String]) = {
    val matching = open.map { case (id, cluster) =>
      id -> cluster.matching(listings.get(id).fold(start.position(id).topics)(_.topics))
    }
    (topology.copy(clusters = topology.clusters ++ matching), (open.keySet -- listings.keySet).toSet)
  }

  private def isOld(listing: Listing) = intervalMs >= 0 && clock.monotonicMs() - listing.at >= intervalMs
}

private[source] object TopicPatterns {

  /** @param at monotonic milliseconds */
  private final case class Listing(
      patterns: Seq[TopologyPattern],
      properties: Map[String, String],
      topics: Set[String],
      at: Long
  ) {
    def isOf(cluster: TopologyCluster): Boolean =
      patterns == cluster.patterns && properties == cluster.properties
  }
}
