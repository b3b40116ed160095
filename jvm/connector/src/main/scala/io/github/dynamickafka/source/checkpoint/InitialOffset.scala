package io.github.dynamickafka.source.checkpoint

import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.offset.history.{HandOver, HistoryPlan}

/**
 * The initial offset of the query.
 *
 * @param offset the start offset of batch 0
 * @param unresolved clusters of the metadata that were unreachable at the first start: their topics still start at
 *                   `startingOffsets`, not at the start position of new topics
 * @param unresolvedTopics the same for topics of reachable clusters, by cluster, that had partitions without an answer
 * @param history what is read before Kafka
 */
private[dynamickafka] final case class InitialOffset(
    offset: CompositeOffset,
    unresolved: Set[String],
    unresolvedTopics: Map[String, Set[String]] = Map.empty,
    history: Option[HistoryPlan] = None
) {
  def handOver: HandOver = history.fold(HandOver.none)(_.handOver)

  def isUnresolved(cluster: String, topic: String): Boolean =
    unresolvedTopics.get(cluster).exists(_.contains(topic))
}
