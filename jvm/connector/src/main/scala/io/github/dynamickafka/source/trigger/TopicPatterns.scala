package io.github.dynamickafka.source.trigger

import java.util.concurrent.CompletableFuture

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, TopologyPattern}
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterStreams}

/**
 * Resolves the topic patterns of the metadata. The topics of a cluster are listed at the same interval as the metadata
 * service is polled; a trigger waits for the first listing of a cluster, and uses it until the next one has arrived. Used
 * only by the thread of the query.
 *
 * @param intervalMs the interval between two listings of a cluster; -1: only one listing
 */
private[source] final class TopicPatterns(intervalMs: Long, streams: ClusterStreams, clock: Clock) {
  import TopicPatterns._

  private var listings = Map.empty[String, Listing]
  private var refreshes = Map.empty[String, Refresh]
  private var matched = Map.empty[String, Matched]
  private var result: Option[Topology] = None

  /**
   * Returns the topology with all matching topics, and the clusters whose topics have never been listed successfully:
   * for these, the topics that the query already reads are used.
   *
   * @param config the configuration of a cluster
   * @param pinned whether existing listings are final
   * @param again clusters to list now, however old their listings are
   * @param superseded as in [[ClusterStreams.ask]]; the result is then None
   */
  def expand(
      topology: Topology,
      start: CompositeOffset,
      config: TopologyCluster => ClusterConfig,
      pinned: Boolean,
      superseded: Set[String] => Boolean,
      again: Set[String] = Set.empty
  ): Option[(Topology, Set[String])] = {
    val open = topology.clusters.filter(_._2.patterns.nonEmpty)
    listings = listings.filter { case (id, l) => open.get(id).exists(c => l.isOf(c, pinned)) }
    val failed = takeRefreshes(open.keySet)
    val old = open.filter { case (id, _) => again(id) || listings.get(id).forall(l => !pinned && isOld(l)) }
    val (later, due) = old.partition { case (id, _) =>
      listings.contains(id) && !again(id) && streams.asksAhead && (!failed(id) || streams.isLate(id))
    }
    later.foreach { case (id, cluster) => refresh(id, cluster) }
    if (open.isEmpty) Some((topology, Set.empty))
    else if (due.isEmpty) Some(expanded(topology, open, start))
    else {
      streams.add(due.map { case (id, cluster) => id -> config(cluster) })
      streams.topics(due.keySet.toSet, superseded).map { answers =>
        listings ++= answers.collect { case (id, Some(topics)) =>
          id -> listing(open(id), topics, clock.monotonicMs())
        }
        expanded(topology, open, start)
      }
    }
  }

  private def listing(cluster: TopologyCluster, topics: Set[String], at: Long) =
    Listing(cluster.patterns, cluster.properties, topics, at)

  private def refresh(id: String, cluster: TopologyCluster): Unit =
    if (!refreshes.contains(id))
      refreshes += id -> Refresh(cluster, streams.topicsAhead(id), clock.monotonicMs())

  /** Takes the listings that have arrived, and returns the clusters whose listing has failed. */
  private def takeRefreshes(open: Set[String]): Set[String] = {
    val (done, pending) = refreshes.partition(_._2.answer.isDone)
    refreshes = pending.filter { case (id, _) => open(id) }
    val (failed, listed) = done.partition(_._2.answer.isCompletedExceptionally)
    listings = listings ++ listed.collect {
      // A cluster that has changed meanwhile is listed again.
      case (id, r) if listings.get(id).exists(_.isOf(r.of, pinned = false)) =>
        id -> listing(r.of, r.answer.join(), r.at)
    }
    failed.keySet
  }

  private def expanded(
      topology: Topology,
      open: SortedMap[String, TopologyCluster],
      start: CompositeOffset
  ): (Topology, Set[String]) = {
    matched = matched.filter { case (id, _) => open.contains(id) }
    val matching = open.map { case (id, cluster) =>
      id -> listings.get(id).fold(cluster.matching(start.position(id).topics))(matchingOf(cluster, _))
    }
    (
      sameOrNew(topology.copy(clusters = topology.clusters ++ matching)),
      (open.keySet -- listings.keySet).toSet
    )
  }

  /** An equal topology is the same object, so that a trigger recognizes that nothing has changed. */
  private def sameOrNew(topology: Topology): Topology = {
    val same = result.filter(_ == topology).getOrElse(topology)
    result = Some(same)
    same
  }

  /** Matches the topics of a listing only once, because a cluster can have very many. */
  private def matchingOf(cluster: TopologyCluster, listing: Listing): TopologyCluster =
    matched.get(cluster.id).filter(m => (m.of eq cluster) && (m.by eq listing)).fold {
      val result = cluster.matching(listing.topics)
      matched += cluster.id -> Matched(cluster, listing, result)
      result
    }(_.result)

  /**
   * The clusters that do not have a topic although their last listing does, by the topics they do not have. Such a topic
   * may have been deleted since then, so the cluster has to be listed before the topic counts as lost. With interval -1,
   * topics do not leave.
   */
  def outdated(topology: Topology, missing: Map[String, Set[String]]): Set[String] =
    if (intervalMs < 0) Set.empty
    else missing.collect {
      case (id, topics)
          if topology.clusters.get(id).exists(c => topics.exists(c.topics.get(_).exists(_.matched))) =>
        id
    }.toSet

  private def isOld(listing: Listing) = intervalMs >= 0 && clock.monotonicMs() - listing.at >= intervalMs
}

private[source] object TopicPatterns {

  /** @param at when it was requested, in monotonic milliseconds */
  private final case class Refresh(of: TopologyCluster, answer: CompletableFuture[Set[String]], at: Long)

  private final case class Matched(of: TopologyCluster, by: Listing, result: TopologyCluster)

  /** @param at monotonic milliseconds */
  private final case class Listing(
      patterns: Seq[TopologyPattern],
      properties: Map[String, String],
      topics: Set[String],
      at: Long
  ) {
    def isOf(cluster: TopologyCluster, pinned: Boolean): Boolean =
      patterns == cluster.patterns && (pinned || properties == cluster.properties)
  }
}
