package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.{
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  NextOffset,
  Positions,
  Reconcile,
  Transition
}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterConfigs, ClusterQuestion, ClusterStreams}
import io.github.dynamickafka.time.Clock
import io.github.dynamickafka.topology.{OffsetsPolicy, Topology, TopologyTopic}

/** Sends the requests of a trigger to the clusters. Used only by the thread of the query. */
private[source] final class TriggerPlanner(
    options: SourceOptions,
    configs: ClusterConfigs.ByScope,
    streams: ClusterStreams,
    feed: TopologyFeed,
    memory: SourceCheckpoint,
    clock: Clock
) {
  private val log = LoggerFactory.getLogger(classOf[TriggerPlanner])

  // Kept in memory and not in the checkpoint, because properties may contain secrets.
  private var lastKnown = Map.empty[String, Map[String, String]]
  private val patterns = new TopicPatterns(options.discovery.intervalMs, streams, clock)
  private var toldWaiting = Set.empty[(String, String)]

  /**
   * @param entry returns the start position of a topic without a position, given the cluster id, the name and metadata of
   *              the topic, and whether other topics of the cluster are already known
   * @param pinned responses to use instead of new requests
   * @param complete see [[ClusterQuestion]]
   */
  def look(
      start: CompositeOffset,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy,
      pinned: Option[Map[String, ClusterView]],
      complete: Boolean
  ): TriggerSnapshot = look(start, entry, pinned, complete, listed = Set.empty)

  /** @param listed clusters whose topics are listed in this trigger in any case */
  @annotation.tailrec
  private def look(
      start: CompositeOffset,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy,
      pinned: Option[Map[String, ClusterView]],
      complete: Boolean,
      listed: Set[String]
  ): TriggerSnapshot = {
    val asked = feed.current()
    val ids = asked.clusters.keySet.toSet
    val moved: Set[String] => Boolean =
      _.exists(id => feed.newest.exists(propertiesOf(_, id) != propertiesOf(asked, id)))
    val resolved = configs(ids)
    val expanded =
      patterns.expand(asked, start, c => resolved(c.id, c.properties), pinned.isDefined, moved, listed)
    expanded.flatMap { case (topology, unlisted) =>
      lookAt(start, entry, pinned, complete, topology, unlisted, moved)
    } match {
      // An unreachable cluster has moved or left meanwhile: start again with the new topology.
      case None => look(start, entry, pinned, complete, listed)
      case Some(found) =>
        val outdated =
          if (pinned.isDefined) Set.empty[String]
          else patterns.outdated(found.topology, TriggerPlanner.missing(found.views)) -- listed
        if (outdated.isEmpty) found else look(start, entry, pinned, complete, listed ++ outdated)
    }
  }

  /** None if a cluster that did not respond has moved or left meanwhile. */
  private def lookAt(
      start: CompositeOffset,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy,
      pinned: Option[Map[String, ClusterView]],
      complete: Boolean,
      topology: Topology,
      unlisted: Set[String],
      moved: Set[String] => Boolean
  ): Option[TriggerSnapshot] = {
    val ofTopology = configs(topology.clusters.keySet.toSet)
    val rules = Reconcile.Rules(
      options.removedClusterRetentionMs,
      options.drainRemovedClusters,
      entry,
      (id, topic) => ofTopology.ending(id, topic)
    )
    val transition = Reconcile(start, topology, clock.currentTimeMillis(), rules)
    streams.set(configsOf(transition, topology))
    val views = pinned.orElse(streams.ask(
      transition.clusters.map { case (id, work) => id -> question(work, complete) },
      moved
    ))
    views.map { answers =>
      val found = unlisted.map(_ -> ClusterView.Unreachable).toMap[String, ClusterView] ++ answers
      if (!options.allowDuplicateClusters) refuseDuplicates(transition, found)
      val advance = NextOffset(start, transition, found)
      tellWaiting(advance.waiting)
      TriggerSnapshot(topology, transition, found, advance)
    }
  }

  private def propertiesOf(topology: Topology, id: String) = topology.clusters.get(id).map(_.properties)

  /**
   * Clusters that have left the topology but must still be read use the last known properties of the metadata or, after
   * a restart, the properties in the checkpoint.
   */
  private def configsOf(transition: Transition, topology: Topology): Map[String, ClusterConfig] = {
    val ids = topology.clusters.keySet ++ transition.clusters.keySet
    // A cluster with patterns must be open to list its topics, even if none matches.
    val open = transition.clusters.keySet ++ topology.clusters.collect {
      case (id, c) if c.patterns.nonEmpty => id
    }
    val properties = open.iterator.map { id =>
      val known =
        propertiesOf(topology, id).orElse(lastKnown.get(id)).orElse(memory.cluster(id).map(_.properties))
      id -> known.getOrElse(
        throw Errors.invalidOffset(s"cluster '$id' is neither in the metadata nor in the checkpoint")
      )
    }
    lastKnown = properties.toMap
    val resolved = configs(ids.toSet)
    lastKnown.map { case (id, p) => id -> resolved(id, p) }
  }

  private def question(work: ClusterTransition, complete: Boolean) =
    ClusterQuestion(
      work.topics,
      work.staying ++ work.returning,
      work.entering,
      work.ending,
      work.only,
      complete
    )

  private def refuseDuplicates(transition: Transition, views: Map[String, ClusterView]): Unit = {
    val reachable = transition.clusters.keySet.filter(views.get(_).exists(_ != ClusterView.Unreachable)).toSeq
    streams.kafkaClusterIds(reachable).toSeq.groupMap(_._2)(_._1).foreach { case (kafkaId, ids) =>
      val byTopic = ids.sorted.flatMap(id => transition.clusters(id).topics.map(_ -> id)).groupMap(_._1)(_._2)
      byTopic.valuesIterator.find(_.size > 1).foreach { both =>
        val shared = byTopic.collect { case (topic, of) if both.take(2).forall(of.contains) => topic }
        throw Errors.duplicateCluster(both(0), both(1), kafkaId, shared.toSeq)
      }
    }
  }

  private def tellWaiting(waiting: Seq[(String, String)]): Unit = {
    (waiting.toSet -- toldWaiting).toSeq.sorted.foreach { case (id, topic) =>
      log.warn(
        "Kafka cluster '{}' has no topic '{}', which is in the metadata; it is read once it exists",
        id,
        topic
      )
    }
    toldWaiting = waiting.toSet
  }
}

private[source] object TriggerPlanner {

  private def missing(views: Map[String, ClusterView]): Map[String, Set[String]] =
    views.collect { case (id, view: ClusterView.Reachable) if view.missing.nonEmpty => id -> view.missing }

  def ends(views: Map[String, ClusterView]): SortedMap[String, Positions] =
    SortedMap.from(views.collect { case (id, view: ClusterView.Reachable) => id -> view.ends })
}
