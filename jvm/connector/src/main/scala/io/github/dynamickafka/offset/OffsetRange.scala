package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.error.Errors

/** Records `from` (inclusive) to `until` (exclusive) of one partition. */
private[dynamickafka] final case class OffsetRange(topic: String, partition: Int, from: Long, until: Long) {
  def size: Long = until - from
  override def toString: String = s"$topic-$partition [$from, $until)"
}

private[dynamickafka] object OffsetRange {

  /**
   * What the batch between two composite offsets reads, by cluster; ranges without a record are left out.
   * Depends on nothing else, so a logged batch is the same each time it is planned (invariant 2).
   */
  def between(start: CompositeOffset, end: CompositeOffset): SortedMap[String, Seq[OffsetRange]] =
    // An offset keeps the entering positions of the batch that it ended.
    if (start == end) SortedMap.empty
    else end.clusters.map { case (cluster, until) =>
      val from = start.position(cluster) ++ end.entered.getOrElse(cluster, Positions.empty)
      cluster -> until.iterator.map { case (topic, partition, last) =>
        val first = from.get(topic, partition).getOrElse {
          throw Errors.invalidOffset(s"cluster '$cluster', $topic-$partition has an end but no start")
        }
        if (first > last) {
          throw Errors.invalidOffset(
            s"cluster '$cluster', $topic-$partition starts at $first and ends at $last"
          )
        }
        OffsetRange(topic, partition, first, last)
      }.filter(_.size > 0).toSeq
    }.filter(_._2.nonEmpty)
}
