package io.github.dynamickafka.source.read

import scala.collection.immutable.SortedMap

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.utils.Utils
import org.apache.spark.SparkContext
import org.apache.spark.util.AccumulatorV2

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.offset.alignment.LogKey
import io.github.dynamickafka.offset.budget.MeanSize

/**
 * The times and sizes of the records that the tasks of a query have read, by partition. Tasks add their ranges when they begin, and the driver
 * merges what tasks that have ended found out. A task that fails adds nothing; one that is repeated, or ends late, changes nothing
 * that a later one has found out; its records count twice in the mean size.
 *
 * It has no name: Spark's UI would keep the value of each task of an accumulator with a name. Thread-safe.
 *
 * @param measures whether sizes are measured
 */
private[source] final class RecordTimes(val measures: Boolean = false)
    extends AccumulatorV2[RangeTimes, Map[LogKey, ReportedTimes]] {

  // Of a task.
  @volatile private var ranges = List.empty[RangeTimes]
  // Of the driver.
  @volatile private var known = Map.empty[LogKey, ReportedTimes]

  override def isZero: Boolean = ranges.isEmpty && known.isEmpty

  override def copy(): RecordTimes = {
    val other = new RecordTimes(measures)
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

  def apply(context: SparkContext, measures: Boolean = false): RecordTimes = {
    val times = new RecordTimes(measures)
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
 *
 * @param measures whether sizes are measured
 */
private[source] final class RangeTimes(key: LogKey, measures: Boolean = false) extends Serializable {
  private var offset = -1L
  private var time = -1L
  private var greatest = -1L
  private var nextOffset = -1L
  private var nextTime = -1L
  private var count = 0L
  private var bytes = 0L

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
    if (measures) {
      count += slice.size.toLong
      (0 until slice.size).foreach(i => bytes += RangeTimes.size(records.get(i)))
    }
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
      val size = if (count == 0L) MeanSize.none else MeanSize(count, bytes.toDouble / count.toDouble)
      key -> ReportedTimes(TimedOffset(offset, time), greatest, next, size)
    }
}

private[source] object RangeTimes {

  /** The bytes of key, value and headers. */
  private def size(record: ConsumerRecord[Array[Byte], Array[Byte]]): Long = {
    var bytes = length(record.key) + length(record.value)
    record.headers.forEach(h => bytes += Utils.utf8Length(h.key).toLong + length(h.value))
    bytes
  }

  private def length(bytes: Array[Byte]): Long = if (bytes == null) 0L else bytes.length.toLong
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
 * @param size of the records that were read, if it is measured
 */
private[source] final case class ReportedTimes(
    last: TimedOffset,
    greatest: Long,
    next: Option[TimedOffset] = None,
    size: MeanSize = MeanSize.none
) {

  /** What both have found out, in whatever order, and if both have read the same records. */
  def and(that: ReportedTimes): ReportedTimes = {
    val later = if (ReportedTimes.order.gteq(this, that)) this else that
    later.copy(greatest = math.max(greatest, that.greatest), size = size.and(that.size))
  }
}

private[source] object ReportedTimes {

  /** Of those with the same last record, what knows the next one is greater. */
  private val order: Ordering[ReportedTimes] =
    Ordering.by(t => (t.last.offset, t.last.time, t.next.map(n => (n.offset, n.time))))
}
