package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, NextOffset, Transition}
import io.github.dynamickafka.topology.Topology

/**
 * The state of all clusters in a trigger: the effect of the topology on the positions, and the offsets in Kafka.
 *
 * @param topology the topology of the trigger, with the topics that match patterns
 * @param views the responses of the clusters
 */
private[source] final case class TriggerSnapshot(
    trigger: Trigger,
    topology: Topology,
    transition: Transition,
    views: Map[String, ClusterView],
    next: NextOffset
) {

  /** The offset before the first record that the trigger can read. */
  def position: CompositeOffset = next.offset(next.spans.map(_ => 0L)).withoutEntries

  /** The topics, by cluster, that have partitions without an answer. */
  def unansweredTopics: Map[String, Set[String]] = views.collect {
    case (id, view: ClusterView.Reachable) if view.unanswered.nonEmpty =>
      id -> view.unanswered.keySet.map(_._1)
  }
}
