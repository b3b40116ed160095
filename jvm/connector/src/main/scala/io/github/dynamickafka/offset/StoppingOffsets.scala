package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * Where partitions of one topic end, which is fixed for the life of the query.
 *
 * @param by in which words the ends were asked for: where these change, so do the ends
 * @param offsets by partition: the first one that is not read. A partition that is not named has no end
 */
private[dynamickafka] final case class TopicEnds(by: String, offsets: SortedMap[Int, Long])

/**
 * What one topic asks of its ends.
 *
 * @param policy for partitions whose end is not fixed; None: they have no end
 * @param fixed ends of before, which stay
 */
private[dynamickafka] final case class Ending(
    policy: Option[OffsetsPolicy],
    by: String,
    fixed: SortedMap[Int, Long]
)

/** StoppingOffsets by cluster and topic. Pure. */
private[dynamickafka] object StoppingOffsets {
  type ByTopic = SortedMap[String, TopicEnds]
  type ByCluster = SortedMap[String, ByTopic]

  val none: ByCluster = SortedMap.empty[String, ByTopic]

  /**
   * @param policy what options and metadata say of the end of this topic, if they do
   * @param before its ends so far
   * @param alone no other cluster is known: an answer without the level of the cluster is about this one
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

  /** For a topic that the metadata no longer names: it ends where it did. */
  def kept(before: Option[TopicEnds]): Option[Ending] = before.map(e => Ending(None, e.by, e.offsets))

  /** None where it says nothing of this topic. */
  private def wording(cluster: String, topic: String, policy: OffsetsPolicy): Option[String] = {
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
    }
  }

  private def anyCluster(policy: OffsetsPolicy) = policy match {
    case OffsetsPolicy.Exact(all) => all.contains(OffsetsPolicy.AnyCluster)
    case OffsetsPolicy.TimestampByPartition(all) => all.contains(OffsetsPolicy.AnyCluster)
    case _ => false
  }
}
