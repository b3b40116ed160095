package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * The effect of a topology on the positions of a query: which topics stay, enter, leave, return or drain.
 *
 * @param clusters the topics to read now, by cluster id
 * @param retained positions that are kept for a return, without expired ones
 * @param now epoch milliseconds
 * @param retains whether positions are retained at all
 */
private[dynamickafka] final case class Transition(
    clusters: SortedMap[String, ClusterTransition],
    retained: SortedMap[String, Retained],
    now: Long = 0L,
    retains: Boolean = true
)

/**
 * One cluster of a [[Transition]]. The partitions of `staying`, `returning` and `entering` are disjoint.
 *
 * @param staying topics that are already read, with their current positions
 * @param returning topics that return, with their retained positions
 * @param entering topics without a position, with their start positions
 * @param targets drain targets of draining topics that have one
 * @param newlyDraining topics that start to drain: their current latest offsets become their drain targets
 * @param ending topics with a stopping position
 * @param only topics of which only some partitions are read, with these partitions
 */
private[dynamickafka] final case class ClusterTransition(
    staying: Positions,
    returning: Positions = Positions.empty,
    entering: SortedMap[String, OffsetsPolicy] = SortedMap.empty,
    targets: Positions = Positions.empty,
    newlyDraining: Set[String] = Set.empty,
    ending: SortedMap[String, Ending] = SortedMap.empty,
    only: Map[String, Set[Int]] = Map.empty
) {
  def topics: Set[String] = staying.topics ++ returning.topics ++ entering.keySet
  def drains(topic: String): Boolean = newlyDraining(topic) || targets.topics(topic)
}
