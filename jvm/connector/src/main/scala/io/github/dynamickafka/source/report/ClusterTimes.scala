package io.github.dynamickafka.source.report

/**
 * The record times of one cluster at the position of the query, in milliseconds since the epoch.
 *
 * @param read the time of the last record that was read; None: this run has read none
 * @param isLevel whether all of its records are read, as far as is known; false for a cluster that has not responded yet
 * @param unread the least time of a first unread record of a partition; None: it is not known, or there is none
 * @param certain the same over the partitions whose time is known for certain, or is this time or an earlier one
 */
private[source] final case class ClusterTimes(
    read: Option[Long] = None,
    isLevel: Boolean = true,
    unread: Option[Long] = None,
    certain: Option[Long] = None
) {

  /** How long ago the first unread record was written; 0: there is none; -1: its time is not known. */
  def lagMs(now: Long): Long =
    if (isLevel) 0L
    else unread.fold(ClusterTimes.Unknown)(time => math.max(0L, now - time))
}

private[source] object ClusterTimes {
  val Unknown: Long = -1L

  /**
   * How far each cluster has been read beyond the least time of a first unread record over the clusters; 0 if there is no unread
   * record, -1 if one of the times is not known. Times later than now count as now.
   */
  def driftMs(clusters: Map[String, ClusterTimes], now: Long): Map[String, Long] = {
    val least = clusters.valuesIterator.flatMap(_.unread).minOption
    val isLevel = clusters.valuesIterator.forall(_.isLevel)
    clusters.map { case (id, times) =>
      val drift = for (read <- times.read; first <- least)
        yield math.max(0L, math.min(now, read) - math.min(now, first))
      id -> (if (isLevel) 0L else drift.getOrElse(Unknown))
    }
  }
}
