package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{ClusterView, NextOffset, Positions, Transition}
import io.github.dynamickafka.topology.Topology

/**
 * The state of all clusters in a trigger: the effect of the topology on the positions, and the offsets in Kafka.
 *
 * @param topology the topology that was used
 * @param views the responses of the clusters
 */
private[source] final case class TriggerSnapshot(
    topology: Topology,
    transition: Transition,
    views: Map[String, ClusterView],
    advance: NextOffset
) {

  /** The latest offsets of the clusters that have responded. */
  lazy val ends: SortedMap[String, Positions] =
    SortedMap.from(views.collect { case (id, view: ClusterView.Reachable) => id -> view.ends })

  /** The topics, by cluster, that have partitions without an answer. */
  def unansweredTopics: Map[String, Set[String]] = views.collect {
    case (id, view: ClusterView.Reachable) if view.unanswered.nonEmpty =>
      id -> view.unanswered.keySet.map(_._1)
  }
}
