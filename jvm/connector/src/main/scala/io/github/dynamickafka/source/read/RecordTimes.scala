package io.github.dynamickafka.source.read

import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.util.{AccumulatorV2, CollectionAccumulator, LongAccumulator}

import io.github.dynamickafka.kafka.SentRecords
import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, LogKey, MeanSize}

/**
 * The times and sizes of the records that the tasks of a query have read, by partition, in the driver. Tasks add their ranges when they
 * begin, and the driver merges what tasks that have ended found out. A task that fails adds nothing; one that is repeated, or ends late,
 * changes nothing that a later one has found out; its records count twice in the mean size.
 *
 * What tasks get and return is an accumulator of Spark with values of the JDK: Spark deserializes the results of tasks without the jars
 * that a client of Spark Connect has uploaded. It has no name: Spark's UI would keep the value of each task of an accumulator with a name.
 * Thread-safe.
 *
 * @param measures whether sizes are measured
 * @param lost counts the records that tasks have found missing, where the query continues without them
 */
private[source] final class RecordTimes(
    measures: Boolean = false,
    val lost: LongAccumulator = new LongAccumulator
) extends CollectionAccumulator[Array[AnyRef]] {
  @volatile private var known = LogTimes.none

  /** What tasks get. */
  val ofTasks: TaskTimes = new TaskTimes(this, measures, lost)

  override def isZero: Boolean = known.logs.isEmpty
  override def copyAndReset(): CollectionAccumulator[Array[AnyRef]] = new CollectionAccumulator

  override def merge(task: AccumulatorV2[Array[AnyRef], ju.List[Array[AnyRef]]]): Unit = {
    val found = task.value.asScala.flatMap(RangeTimes.found(_))
    synchronized {
      known = known.and(found)
    }
  }

  /** What tasks have found out: the same object until a task adds something. */
  def found: LogTimes = known

  /**
   * Forgets logs that are not read any more, and those that were read beyond these positions. Called by the driver when no task runs.
   */
  def retain(reached: CompositeOffset): Unit = synchronized {
    val kept = known.logs.filter { case ((key, topicId), times) =>
      reached.identity(key.cluster).topics.get(key.topic) == topicId &&
      reached.position(key.cluster).get(key.topic, key.partition).exists(_ > times.last.offset)
    }
    if (kept.size < known.logs.size) known = LogTimes(kept)
  }
}

private[source] object RecordTimes {

  def apply(context: SparkContext, measures: Boolean = false): RecordTimes = {
    val times = new RecordTimes(measures, context.longAccumulator)
    context.register(times)
    times
  }
}

/**
 * What tasks have reported, by the partition and the id of its topic (KIP-516), if it is known: two logs with the same name have offsets
 * and times that cannot be compared. Immutable.
 */
private[source] final case class LogTimes(logs: Map[(LogKey, Option[String]), ReportedTimes]) {

  /** The times of the log that a query reads whose positions have these identities. */
  def in(identities: SortedMap[String, ClusterIdentity], key: LogKey): Option[ReportedTimes] =
    logs.get((key, identities.get(key.cluster).flatMap(_.topics.get(key.topic))))

  def and(found: Iterable[((LogKey, Option[String]), ReportedTimes)]): LogTimes =
    LogTimes(found.foldLeft(logs) { case (all, (log, times)) =>
      all.updated(log, all.get(log).fold(times)(_.and(times)))
    })
}

private[source] object LogTimes {
  val none: LogTimes = LogTimes(Map.empty)
}

/**
 * Where a task reports the times of its ranges.
 *
 * @param measures whether sizes are measured
 * @param lost counts the records that are missing
 */
private[source] final class TaskTimes(
    to: CollectionAccumulator[Array[AnyRef]],
    measures: Boolean,
    val lost: LongAccumulator = new LongAccumulator
) extends Serializable {

  /** The times of a range, which begins. */
  def of(key: LogKey, topicId: Option[String]): RangeTimes = {
    val range = new RangeTimes(key, topicId, measures)
    to.add(range.reported)
    range
  }
}

/**
 * The times of the records of one range, which a task reads: the only object of the range that is kept, updated once for the records
 * of a fetch. Used by the thread that holds the lock of the reader; Spark's heartbeat may serialize it meanwhile, and drops what
 * it gets.
 *
 * @param measures whether sizes are measured
 */
private[source] final class RangeTimes(key: LogKey, topicId: Option[String], measures: Boolean = false) {
  import RangeTimes._
  private val numbers = Array(-1L, -1L, -1L, -1L, -1L, 0L, 0L, -1L)

  /** Cluster, topic, its id or "", partition and numbers, which change while records are read. */
  val reported: Array[AnyRef] =
    Array(key.cluster, key.topic, topicId.getOrElse(""), Int.box(key.partition), numbers)

  /**
   * The records of a slice are read.
   *
   * @param now milliseconds since the epoch
   */
  def read(slice: Slice, now: Long): Unit = {
    val records = slice.records
    var most = numbers(Greatest)
    var i = 0
    while (i < slice.size) {
      val time = records.get(i).timestamp
      if (time > most && time <= now) most = time
      i += 1
    }
    numbers(Greatest) = most
    if (measures) {
      numbers(Count) += slice.size.toLong
      (0 until slice.size).foreach { i =>
        val record = records.get(i)
        numbers(Bytes) += SentRecords.size(record.key, record.value, record.headers)
      }
    }
    val last = records.get(slice.size - 1)
    numbers(Offset) = last.offset
    numbers(Time) = math.min(last.timestamp, now)
    numbers(Written) = last.timestamp
    if (slice.size < records.size) {
      val next = records.get(slice.size)
      numbers(NextOffset) = next.offset
      numbers(NextTime) = math.min(next.timestamp, now)
    }
  }

  /** None: no record was read. */
  def found: Option[((LogKey, Option[String]), ReportedTimes)] = RangeTimes.found(reported)
}

private[source] object RangeTimes {
  private val Offset = 0
  private val Time = 1
  private val Greatest = 2
  private val NextOffset = 3
  private val NextTime = 4
  private val Count = 5
  private val Bytes = 6
  private val Written = 7

  /** What a task has reported of a range. */
  def found(reported: Array[AnyRef]): Option[((LogKey, Option[String]), ReportedTimes)] = reported match {
    case Array(cluster: String, topic: String, id: String, partition: Integer, numbers: Array[Long]) =>
      Option.when(numbers(Offset) >= 0) {
        val next =
          Option.when(numbers(NextOffset) > numbers(Offset))(TimedOffset(
            numbers(NextOffset),
            numbers(NextTime)
          ))
        val count = numbers(Count)
        val size =
          if (count == 0L) MeanSize.none else MeanSize(count, numbers(Bytes).toDouble / count.toDouble)
        val last = TimedOffset(numbers(Offset), numbers(Time))
        (LogKey(cluster, topic, partition), Option(id).filter(_.nonEmpty)) ->
          ReportedTimes(last, numbers(Greatest), next, size, numbers(Written))
      }
    case other => throw new IllegalArgumentException(s"no times of a range: ${other.mkString(", ")}")
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
 * @param size the mean size of the records that were read, if it is measured
 * @param written the time of the last record as it was written, perhaps in the future; -1: there is none
 */
private[source] final case class ReportedTimes(
    last: TimedOffset,
    greatest: Long,
    next: Option[TimedOffset] = None,
    size: MeanSize = MeanSize.none,
    written: Long = -1L
) {

  /** What both have found out, in whatever order, and if both have read the same records. */
  def and(that: ReportedTimes): ReportedTimes = {
    val later = if (ReportedTimes.order.gteq(this, that)) this else that
    later.copy(greatest = math.max(greatest, that.greatest), size = size.and(that.size))
  }
}

private[source] object ReportedTimes {

  /** If the last record is the same, times that know the next one are greater. */
  private val order: Ordering[ReportedTimes] =
    Ordering.by(t => (t.last.offset, t.last.time, t.next.map(n => (n.offset, n.time))))
}
