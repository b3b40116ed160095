package io.github.dynamickafka.source.read

import scala.collection.immutable.SortedMap

import org.apache.spark.SparkContext
import org.apache.spark.util.AccumulatorV2

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.offset.alignment.LogKey

/**
 * The times of the records that the tasks of a query have read, by partition. Tasks add their ranges when they begin, and the driver
 * merges what tasks that have ended found out. A task that fails adds nothing; one that is repeated, or ends late, changes nothing
 * that a later one has found out.
 *
 * It has no name: Spark's UI would keep the value of each task of an accumulator with a name. Thread-safe.
 */
private[source] final class RecordTimes
    extends AccumulatorV2[RangeTimes, Map[LogKey, ReportedTimes]] {

  // Of a task.
  @volatile private var ranges = List.empty[RangeTimes]
  // Of the driver.
  @volatile private var known = Map.empty[LogKey, ReportedTimes]

  override def isZero: Boolean = ranges.isEmpty && known.isEmpty

  override def copy(): RecordTimes = {
    val other = new RecordTimes
    other.ranges = ranges
    other.known = known
    other
  }

  override def reset(): Unit = synchronized {
    ranges = Nil
    known = Map.empty
  }

  override def add(range: RangeTimes): Unit = synchronized {
    ranges ::= range
  }

  override def merge(
      other: AccumulatorV2[RangeTimes, Map[LogKey, ReportedTimes]]
  ): Unit = {
    val found = other.value
    synchronized {
      known = RecordTimes.merged(known, found)
    }
  }

  /** On the driver, the same object until a task has found out something. */
  override def value: Map[LogKey, ReportedTimes] =
    RecordTimes.merged(known, ranges.flatMap(_.found))

  /**
   * Forgets partitions that are not read any more, and those that were read beyond these positions: their log is another one. Called
   * by the driver when no task runs.
   */
  def retain(positions: SortedMap[String, Positions]): Unit = synchronized {
    val kept = known.filter { case (key, times) =>
      positions.get(key.cluster).flatMap(_.get(key.topic, key.partition)).exists(_ > times.last.offset)
    }
    if (kept.size < known.size) known = kept
  }
}

private[source] object RecordTimes {

  def apply(context: SparkContext): RecordTimes = {
    val times = new RecordTimes
    context.register(times)
    times
  }

  private def merged(
      known: Map[LogKey, ReportedTimes],
      found: Iterable[(LogKey, ReportedTimes)]
  ): Map[LogKey, ReportedTimes] = found.foldLeft(known) { case (all, (key, times)) =>
    all.updated(key, all.get(key).fold(times)(_.and(times)))
  }
}

/**
 * The times of the records of one range, which a task reads: the only object of the range that is kept, updated once for the records
 * of a fetch. Used by the thread that holds the lock of the reader; Spark's heartbeat may serialize it meanwhile, and drops what
 * it gets.
 */
private[source] final class RangeTimes(key: LogKey) extends Serializable {
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
      if (time > most && time <= now) most = time
      i += 1
    }
    greatest = most
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
  def found: Option[(LogKey, ReportedTimes)] =
    Option.when(offset >= 0) {
      val next = Option.when(nextOffset > offset)(TimedOffset(nextOffset, nextTime))
      key -> ReportedTimes(TimedOffset(offset, time), greatest, next)
    }
}

/** An offset and the time of its record, in milliseconds since the epoch. */
private[source] final case class TimedOffset(offset: Long, time: Long)

/**
 * What tasks have found out about the times of the records of a partition. Times later than the clock of the executor count as
 * its time; -1: the record has no time.
 *
 * @param last the last record that was read
 * @param greatest the greatest time of the records that were read and have no time in the future, which would hide all others; -1:
 *                 there is none
 * @param next the record after it, if it had been fetched too
 */
private[source] final case class ReportedTimes(
    last: TimedOffset,
    greatest: Long,
    next: Option[TimedOffset] = None
) {

  /** What both have found out, in whatever order, and if both have read the same records. */
  def and(that: ReportedTimes): ReportedTimes = {
    val later = if (ReportedTimes.order.gteq(this, that)) this else that
    later.copy(greatest = math.max(greatest, that.greatest))
  }
}

private[source] object ReportedTimes {

  /** Of those with the same last record, what knows the next one is greater. */
  private val order: Ordering[ReportedTimes] =
    Ordering.by(t => (t.last.offset, t.last.time, t.next.map(n => (n.offset, n.time))))
}
