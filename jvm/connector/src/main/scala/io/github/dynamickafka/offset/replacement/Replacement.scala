package io.github.dynamickafka.offset.replacement

import io.github.dynamickafka.offset.{ClusterView, Positions, ReplacedCluster}

/**
 * A Kafka cluster that replaces another one.
 *
 * @param replaced which
 * @param former the id of the cluster that is replaced; that of `replaced` if the new one has the same id
 * @param positions the next offsets to read in the former cluster
 * @param read the last records that were read below these positions, as far as their times are known
 * @param lastBatchMs the time of the last batch of the query in milliseconds since the epoch; 0 if it is not known
 * @param topics the topics that are read in the new cluster
 * @param view the response of the new cluster, which was requested after it was recognized
 */
private[dynamickafka] final case class Replacement(
    replaced: ReplacedCluster,
    former: String,
    positions: Positions,
    read: Map[(String, Int), LastRecord],
    lastBatchMs: Long,
    topics: Set[String],
    view: ClusterView.Reachable
) {
  def id: String = replaced.cluster

  /** The topics whose positions are known and that the new cluster has, with the partitions that it has, in their order. */
  def continuing: Seq[(String, Seq[Int])] =
    positions.topics.intersect(topics).filterNot(view.missing).toSeq.sorted
      .map(topic => topic -> view.ends.of(topic).keySet.toSeq)
}
