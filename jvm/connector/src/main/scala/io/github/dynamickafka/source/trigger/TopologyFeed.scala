package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap
import scala.util.Try

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.metadata.{Topology, TopologyCluster}
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.cluster.{AheadRequests, ClusterConfig, ClusterStreams}

/**
 * Provides the topology of a trigger: the newest one of the watcher; after a restart, the last one in the checkpoint
 * until the metadata service responds; with `Trigger.AvailableNow`, the pinned one, with the addresses and other properties
 * of the newest one.
 *
 * Does not wait after the first answer (invariant 4 in `docs/dev/architecture.md`).
 *
 * @param remembered the last topology in the checkpoint, or an exception if it cannot be read
 * @param incomplete the clusters that the query cannot use with the properties in the checkpoint, because these contain no
 *                   secrets
 */
private[source] final class TopologyFeed(
    watcher: MetadataWatcher,
    remembered: () => Option[Topology],
    incomplete: Topology => Set[String] = _ => Set.empty
) extends AutoCloseable
    with LossGrace.Metadata {

  private val log = LoggerFactory.getLogger(classOf[TopologyFeed])
  private var started = false
  private var fallback: Option[Topology] = None
  private var pinned: Option[Topology] = None
  private var followed: Option[(Topology, Topology)] = None
  private var call = 0L
  private var used: Option[Topology] = None

  /** For the first start of a query: waits for the first valid answer. */
  def first(): Topology = {
    started = true
    watcher.awaitFirst()
  }

  /** @throws DynamicKafkaRuntimeException `METADATA_UNAVAILABLE` after more consecutive failures than are tolerated */
  def current(): Topology = pinned.map(withProperties).getOrElse {
    if (!started) resume()
    val state = watcher.current
    state.fatal.foreach(throw _)
    call = state.call
    val topology = state.topology.orElse(fallback).getOrElse(watcher.awaitFirst())
    used = Some(topology)
    topology
  }

  override def ask(): Option[Long] = if (pinned.isDefined) None else watcher.ask()

  /**
   * By the topology of the trigger: the newest one may have neither the topic nor the mark that it is not confirmed. What drains has to
   * be read although the metadata do not have it.
   */
  override def reads(cluster: String, topic: String, asked: Long): Boolean =
    call > asked && !used.exists(_.unconfirmed.get(cluster).exists(_(topic)))

  /** The topology that [[current]] would return now. Never throws. */
  def newest: Option[Topology] = pinned.map(withProperties).orElse(watcher.current.topology).orElse(fallback)

  /** Makes [[current]] always return the clusters and topics that it returns now, and returns these. */
  def pin(): Topology = {
    val topology = current()
    pinned = Some(topology)
    topology
  }

  /** An equal topology is the same object, because clients and options are resolved once for each object. */
  private def withProperties(topology: Topology): Topology =
    watcher.current.topology.filterNot(_ eq topology).fold(topology) { newest =>
      followed.collect { case (`newest`, result) => result }.getOrElse {
        val updated = topology.withPropertiesOf(newest)
        val result = followed.map { case (_, before) => before }.filter(_ == updated).getOrElse(updated)
        followed = Some(newest -> result)
        result
      }
    }

  def ageMs: Long = watcher.current.ageMs
  def failures: Int = watcher.current.consecutiveFailures

  override def close(): Unit = watcher.close()

  private def resume(): Unit = {
    started = true
    val before = Try(remembered())
    if (watcher.awaitFirstAttempt(before.toOption.flatten).isEmpty) {
      before.get.foreach { last =>
        val unusable = incomplete(last)
        if (unusable.isEmpty) {
          fallback = Some(last)
          log.warn(
            "The metadata service is unavailable; the query continues with the topology in its checkpoint"
          )
        } else log.warn(
          "The metadata service is unavailable; the query waits for it, because its checkpoint does not contain the " +
            "credentials of the clusters {}",
          unusable.toSeq.sorted.mkString(", ")
        )
      }
    }
  }
}

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
  private val refreshes = new AheadRequests[TopologyCluster, Set[String]](clock)
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
    later.foreach { case (id, cluster) => refreshes.send(id, cluster)(streams.topicsAhead(id)) }
    if (open.isEmpty) Some((topology, Set.empty))
    else if (due.isEmpty) Some(expanded(topology, open, start))
    else {
      streams.add(due.map { case (id, cluster) => id -> config(cluster) })
      streams.topics(due.keySet.toSet, superseded).map { answers =>
        listings ++= answers.collect { case (id, Some(topics)) =>
          id -> Listing(open(id), topics, clock.monotonicMs())
        }
        expanded(topology, open, start)
      }
    }
  }

  /** Takes the listings that have arrived, and returns the clusters whose listing has failed. */
  private def takeRefreshes(open: Set[String]): Set[String] = {
    refreshes.retain(open)
    val done = refreshes.take()
    listings ++= done.collect {
      // A cluster that has changed meanwhile is listed again.
      case (id, (sent, Right(topics))) if listings.get(id).exists(_.isOf(sent.question, pinned = false)) =>
        id -> Listing(sent.question, topics, sent.sentAt)
    }
    done.collect { case (id, (_, Left(_))) => id }.toSet
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

  private final case class Matched(of: TopologyCluster, by: Listing, result: TopologyCluster)

  /** @param at monotonic milliseconds */
  private final case class Listing(of: TopologyCluster, topics: Set[String], at: Long) {
    def isOf(cluster: TopologyCluster, pinned: Boolean): Boolean =
      of.patterns == cluster.patterns && (pinned || of.properties == cluster.properties)
  }
}
