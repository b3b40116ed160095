package io.github.dynamickafka.offset.replacement

import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, LogKey, Positions, ReplacedCluster}

/** A record that was read, and its time in milliseconds since the epoch. */
private[dynamickafka] final case class LastRecord(offset: Long, time: Long)

/** The last record that was read of each partition whose position a query has, as far as its time is known. Immutable. */
private[dynamickafka] final case class RecordsRead(partitions: Map[LogKey, LastRecord]) {

  /**
   * The records after a batch; the same object if nothing has changed.
   *
   * @param reached the positions after a batch
   * @param reported the last record that tasks have read of a partition, perhaps of a former log
   */
  def after(reached: CompositeOffset, reported: LogKey => Option[LastRecord]): RecordsRead = {
    val entered = reached.entered
    val kept = for {
      (id, of) <- reached.retained.iterator
      (topic, kept) <- of.topics.iterator
    } yield kept.former.fold(id)(_.id) -> Positions(Seq(topic -> kept.offsets))
    val next = (for {
      // What is read now has precedence.
      (id, positions) <- kept ++ reached.clusters.iterator
      (topic, p, at) <- positions.iterator
      key = LogKey(id, topic, p)
      from = entered.get(id).flatMap(_.get(topic, p))
      read = reported(key).filter(record => record.offset < at && from.forall(record.offset >= _))
      // The batch has read no record, as after a transaction that was aborted.
      last <- read.orElse(partitions.get(key).filter(_.offset < from.fold(at)(math.min(_, at))))
    } yield key -> last).toMap
    if (next == partitions) this else RecordsRead(next)
  }

  /**
   * The last records of the partitions of a cluster that are at these positions. Nothing is known of a position that was set back by an
   * operator.
   */
  def of(id: String, positions: Positions): Map[(String, Int), LastRecord] =
    positions.iterator.flatMap { case (topic, p, at) =>
      partitions.get(LogKey(id, topic, p)).filter(_.offset < at).map((topic, p) -> _)
    }.toMap

  /** The log of `id` continues that of `former` at the same offsets, so it has the records that were read there. */
  def continued(former: String, id: String, positions: Positions): RecordsRead =
    RecordsRead(partitions ++ of(former, positions).map { case ((topic, p), last) =>
      LogKey(id, topic, p) -> last
    })
}

private[dynamickafka] object RecordsRead {
  val none: RecordsRead = RecordsRead(Map.empty)
}

/**
 * A Kafka cluster that replaces another one.
 *
 * @param replaced the cluster that is replaced, and the id of the new one
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
