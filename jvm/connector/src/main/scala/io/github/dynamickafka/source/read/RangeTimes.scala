package io.github.dynamickafka.source.read

/**
 * The times of the records of one range, which a task reads: the only object of the range that is kept, updated once for the records
 * of a fetch. Used by the thread that holds the lock of the reader; Spark's heartbeat may serialize it meanwhile, and drops what
 * it gets.
 */
private[source] final class RangeTimes(of: ClusterPartition) extends Serializable {
  private var offset = -1L
  private var time = -1L
  private var greatest = -1L
  private var nextOffset = -1L
  private var nextTime = -1L

  /**
   * The records of a slice are read.
   *
   * @param now milliseconds since the epoch
   */
  def read(slice: Slice, now: Long): Unit = {
    val records = slice.records
    var most = greatest
    var i = 0
    while (i < slice.size) {
      val time = records.get(i).timestamp
      if (time > most) most = time
      i += 1
    }
    greatest = math.min(most, now)
    val last = records.get(slice.size - 1)
    offset = last.offset
    time = math.min(last.timestamp, now)
    if (slice.size < records.size) {
      val next = records.get(slice.size)
      nextOffset = next.offset
      nextTime = math.min(next.timestamp, now)
    }
  }

  /** None: no record was read. */
  def found: Option[(ClusterPartition, PartitionTimes)] =
    Option.when(offset >= 0) {
      val next = Option.when(nextOffset > offset)(TimedOffset(nextOffset, nextTime))
      of -> PartitionTimes(TimedOffset(offset, time), greatest, next)
    }
}
