package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * The stopping offsets of one topic, which are resolved once for the lifetime of the query.
 *
 * @param by the text of the policy that they were resolved from: if the policy changes, they are resolved again
 * @param offsets by partition, exclusive. A partition that is absent has no stopping offset
 */
private[dynamickafka] final case class TopicEnds(by: String, offsets: SortedMap[Int, Long])

/**
 * The stopping offsets of one topic in a trigger.
 *
 * @param policy resolves the stopping offset of partitions without a fixed one; None: they have no stopping offset
 * @param fixed stopping offsets that were resolved before, which do not change
 */
private[dynamickafka] final case class Ending(
    policy: Option[OffsetsPolicy],
    by: String,
    fixed: SortedMap[Int, Long]
)

/** Stopping offsets by cluster and topic. Pure. */
private[dynamickafka] object StoppingOffsets {
  type ByTopic = SortedMap[String, TopicEnds]
  type ByCluster = SortedMap[String, ByTopic]

  val none: ByCluster = SortedMap.empty[String, ByTopic]

  /**
   * @param policy the stopping position of this topic in options and metadata, if any
   * @param before the stopping offsets that were resolved before
   * @param alone whether no other cluster is known, so that offsets without cluster level apply to this one
   */
  def of(
      cluster: String,
      topic: String,
      policy: Option[OffsetsPolicy],
      before: Option[TopicEnds],
      alone: Boolean
  ): Option[Ending] =
    for {
      asked <- policy
      by <- wording(cluster, topic, asked)
      same = before.filter(_.by == by)
      if alone || same.isDefined || !anyCluster(asked)
    } yield Ending(Some(asked), by, same.fold(SortedMap.empty[Int, Long])(_.offsets))

  /** For a topic that is no longer in the metadata: its stopping offsets do not change. */
  def kept(before: Option[TopicEnds]): Option[Ending] = before.map(e => Ending(None, e.by, e.offsets))

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
