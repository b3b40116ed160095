package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

/** The response of a cluster in a trigger. */
private[dynamickafka] sealed trait ClusterView extends Product with Serializable

private[dynamickafka] object ClusterView {

  /** The cluster is unreachable, and the query continues without it. */
  case object Unreachable extends ClusterView

  /** The cluster has not responded yet: nothing is known, and this trigger continues without it. */
  case object Pending extends ClusterView

  /**
   * @param ends the latest offsets of all partitions of the requested topics
   * @param earliest the earliest offsets of these partitions
   * @param entering the start positions of topics that enter; a partition that is absent starts at its earliest offset
   * @param missing requested topics that the cluster does not have
   * @param endings the stopping offsets that were resolved now; a partition that is absent has none
   * @param unanswered (topic, partition) pairs that exist, but whose offsets the cluster did not return, with the reason
   * @param topicIds the topic ids of Kafka (KIP-516) of the topics; absent where the broker gives none
   * @param kafkaId the `cluster.id` of Kafka (KIP-78), if the broker gives one
   * @param epochs the leader epochs (KIP-320) that belong to `ends`; absent where the broker gives none
   */
  final case class Reachable(
      ends: Positions,
      earliest: Positions,
      entering: Positions = Positions.empty,
      missing: Set[String] = Set.empty,
      endings: Positions = Positions.empty,
      unanswered: Map[(String, Int), String] = Map.empty,
      topicIds: Map[String, String] = Map.empty,
      kafkaId: Option[String] = None,
      epochs: Positions = Positions.empty
  ) extends ClusterView {

    /** Whether an earlier response is about the same logs, so that its offsets apply to them. */
    def continues(earlier: Reachable): Boolean = {
      val identity = ClusterIdentity(earlier.kafkaId, SortedMap.from(earlier.topicIds))
      earlier.topicIds.keys.forall(identity.isOf(this)) &&
      !ClusterIdentity.differ(earlier.kafkaId, kafkaId)
    }
  }
}
