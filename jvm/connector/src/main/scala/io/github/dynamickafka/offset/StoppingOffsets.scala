package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.metadata.OffsetsPolicy

/**
 * The stopping offsets of one topic, which are resolved once for the lifetime of the query.
 *
 * @param by the text of the policy that they were resolved from: if the policy changes, they are resolved again
 * @param offsets by partition, exclusive. A partition that is absent has no stopping offset
 */
private[dynamickafka] final case class TopicEnds(by: String, offsets: SortedMap[Int, Long])

/**
 * Offsets in the logs of one topic, by partition. They mean nothing in another topic of the same name, so they are reached
 * only with the id of the topic to which they are applied.
 *
 * @param topicId the id of their topic (KIP-516), if it is known
 */
private[dynamickafka] final case class TopicOffsets(
    topicId: Option[String],
    private val offsets: SortedMap[Int, Long]
) {

  /** These offsets in the topic with this id; none if it is another topic. An id that is not known is not compared. */
  def in(topicId: Option[String]): SortedMap[Int, Long] =
    if (ClusterIdentity.differ(this.topicId, topicId)) SortedMap.empty[Int, Long] else offsets
}

/**
 * The stopping offsets of one topic in a trigger.
 *
 * @param policy resolves the stopping offset of partitions without a fixed one; None: they have no stopping offset
 * @param fixed stopping offsets that were resolved before, which do not change
 */
private[dynamickafka] final case class Ending(
    policy: Option[OffsetsPolicy],
    by: String,
    fixed: TopicOffsets
)

/** Stopping offsets by cluster and topic. Pure. */
private[dynamickafka] object StoppingOffsets {
  type ByTopic = SortedMap[String, TopicEnds]
  type ByCluster = SortedMap[String, ByTopic]

  val none: ByCluster = SortedMap.empty[String, ByTopic]

  /**
   * @param policy the stopping position of this topic in options and metadata, if any
   * @param before the stopping offsets that were resolved before
   * @param topicId the id of the topic for which they were resolved
   * @param alone whether no other cluster is known, so that offsets without cluster level apply to this one
   */
  def of(
      cluster: String,
      topic: String,
      policy: Option[OffsetsPolicy],
      before: Option[TopicEnds],
      topicId: Option[String],
      alone: Boolean
  ): Option[Ending] =
    for {
      asked <- policy
      by <- wording(cluster, topic, asked)
      same = before.filter(_.by == by)
      if alone || same.isDefined || !anyCluster(asked)
    } yield Ending(Some(asked), by, TopicOffsets(topicId, same.fold(SortedMap.empty[Int, Long])(_.offsets)))

  /** For a topic whose stopping position has left the metadata with it: its stopping offsets do not change. */
  def kept(before: TopicEnds, topicId: Option[String]): Ending =
    Ending(None, before.by, TopicOffsets(topicId, before.offsets))

  /** None if the policy does not contain this topic. */
  def wording(cluster: String, topic: String, policy: OffsetsPolicy): Option[String] = {
    def of(all: OffsetsPolicy.ByCluster) = all
      .get(cluster)
      .orElse(all.get(OffsetsPolicy.AnyCluster))
      .flatMap(_.get(topic))
      .map(_.toSeq.sorted.map { case (p, n) => s""""$p":$n""" }.mkString("{", ",", "}"))
    policy match {
      case OffsetsPolicy.Earliest => Some("earliest")
      case OffsetsPolicy.Latest => Some("latest")
      case OffsetsPolicy.Committed(_) => Some("committed")
      case OffsetsPolicy.Timestamp(epochMs) => Some(s"timestamp:$epochMs")
      case OffsetsPolicy.TimestampByPartition(all) => of(all).map("timestamp:" + _)
      case OffsetsPolicy.Exact(all) => of(all)
      case OffsetsPolicy.After(_, _, _, rest) => wording(cluster, topic, rest)
      case OffsetsPolicy.Computed(by, _) => Some(by)
    }
  }

  private def anyCluster(policy: OffsetsPolicy) = policy match {
    case OffsetsPolicy.Exact(all) => all.contains(OffsetsPolicy.AnyCluster)
    case OffsetsPolicy.TimestampByPartition(all) => all.contains(OffsetsPolicy.AnyCluster)
    case _ => false
  }
}
