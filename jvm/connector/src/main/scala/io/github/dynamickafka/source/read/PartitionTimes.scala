package io.github.dynamickafka.source.read

/** A partition of a topic of a cluster. */
private[source] final case class ClusterPartition(cluster: String, topic: String, partition: Int)

/** An offset and the time of its record, in milliseconds since the epoch. */
private[source] final case class TimedOffset(offset: Long, time: Long)

/**
 * What tasks have found out about the times of the records of a partition. Times later than the clock of the executor count as
 * its time; -1: the record has no time.
 *
 * @param last the last record that was read
 * @param greatest the greatest time of a record that was read
 * @param next the record after it, if it had been fetched too
 */
private[source] final case class PartitionTimes(
    last: TimedOffset,
    greatest: Long,
    next: Option[TimedOffset] = None
) {

  /** What both have found out, in whatever order, and if both have read the same records. */
  def and(that: PartitionTimes): PartitionTimes = {
    val later = if (PartitionTimes.order.gteq(this, that)) this else that
    later.copy(greatest = math.max(greatest, that.greatest))
  }
}

private[source] object PartitionTimes {

  /** Of those with the same last record, what knows the next one is greater. */
  private val order: Ordering[PartitionTimes] =
    Ordering.by(t => (t.last.offset, t.last.time, t.next.map(n => (n.offset, n.time))))
}
