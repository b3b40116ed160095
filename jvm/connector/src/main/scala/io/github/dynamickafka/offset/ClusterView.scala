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
   * @param identity what Kafka calls the cluster and the topics, and the leader epochs that belong to `ends`; absent where the broker
   *                 gives none
   */
  final case class Reachable(
      ends: Positions,
      earliest: Positions,
      entering: Positions = Positions.empty,
      missing: Set[String] = Set.empty,
      endings: Positions = Positions.empty,
      unanswered: Map[(String, Int), String] = Map.empty,
      identity: ClusterIdentity = ClusterIdentity.unknown
  ) extends ClusterView {
    def kafkaId: Option[String] = identity.kafkaId
    def topicIds: SortedMap[String, String] = identity.topics
    def epochs: Positions = identity.epochs

    def in(kafkaId: Option[String]): Reachable = copy(identity = identity.copy(kafkaId = kafkaId))

    /** Whether an earlier response is about the same logs, so that its offsets apply to them. */
    def continues(earlier: Reachable): Boolean =
      earlier.topicIds.keys.forall(earlier.identity.isOf(identity)) &&
        !ClusterIdentity.differ(earlier.kafkaId, kafkaId)
  }
}
