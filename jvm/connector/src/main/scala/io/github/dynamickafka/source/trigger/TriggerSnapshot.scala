package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.offset.{ClusterView, NextOffset, Transition}
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

  /** The topics, by cluster, that have partitions without an answer. */
  def unansweredTopics: Map[String, Set[String]] = views.collect {
    case (id, view: ClusterView.Reachable) if view.unanswered.nonEmpty =>
      id -> view.unanswered.keySet.map(_._1)
  }
}
