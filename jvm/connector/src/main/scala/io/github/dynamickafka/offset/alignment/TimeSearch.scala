package io.github.dynamickafka.offset.alignment

/**
 * Finds the times of positions by bisection: where a query starts, restarts, or a partition enters in the middle of its log. All
 * partitions are asked at once, round by round. Pure.
 */
private[dynamickafka] object TimeSearch {

  /**
   * The times to ask for in the next round. Empty if the times are known well enough: to a sixteenth of the drift, or that they
   * are not the least ones, or later than `now` less the drift.
   *
   * @param searched the partitions whose times are searched
   * @param others all partitions whose times are compared with them
   */
  def questions(
      searched: Map[LogKey, PartitionTimes],
      others: Iterable[PartitionTimes],
      now: Long,
      driftMs: Long
  ): Map[LogKey, Long] = {
    val level = math.max(0L, now - driftMs + 1)
    val precision = math.max(1L, driftMs / 16)
    val least = others.iterator.filterNot(p => p.isAhead(now) || p.isTimeless).map(
      _.below
    ).minOption.getOrElse(Long.MaxValue)
    def isOpen(p: PartitionTimes) = !p.isTimeless && !p.isAhead(now) &&
      p.least.forall(time => time < level && time < least && p.below - time > precision)
    searched.collect { case (key, p) if isOpen(p) => key -> next(p, level) }
  }

  private def next(p: PartitionTimes, level: Long): Long =
    if (p.below == Long.MaxValue) level
    else p.least.fold(0L)(time => time + (p.below - time) / 2)
}
