package io.github.dynamickafka.source.read

import scala.collection.immutable.SortedMap

import org.apache.spark.SparkContext
import org.apache.spark.util.AccumulatorV2

import io.github.dynamickafka.offset.Positions

/**
 * The times of the records that the tasks of a query have read, by partition. Tasks add their ranges when they begin, and the driver
 * merges what tasks that have ended found out. A task that fails adds nothing; one that is repeated, or ends late, changes nothing
 * that a later one has found out.
 *
 * It has no name: Spark's UI would keep the value of each task of an accumulator with a name. Thread-safe.
 */
private[source] final class RecordTimes
    extends AccumulatorV2[RangeTimes, Map[ClusterPartition, PartitionTimes]] {

  // Of a task.
  @volatile private var ranges = List.empty[RangeTimes]
  // Of the driver.
  @volatile private var known = Map.empty[ClusterPartition, PartitionTimes]

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
      other: AccumulatorV2[RangeTimes, Map[ClusterPartition, PartitionTimes]]
  ): Unit = {
    val found = other.value
    synchronized {
      known = RecordTimes.merged(known, found)
    }
  }

  /** On the driver, the same object until a task has found out something. */
  override def value: Map[ClusterPartition, PartitionTimes] =
    RecordTimes.merged(known, ranges.flatMap(_.found))

  /**
   * Forgets partitions that are not read any more, and those that were read beyond these positions: their log is another one. Called
   * by the driver when no task runs.
   */
  def retain(positions: SortedMap[String, Positions]): Unit = synchronized {
    val kept = known.filter { case (of, times) =>
      positions.get(of.cluster).flatMap(_.get(of.topic, of.partition)).exists(_ > times.last.offset)
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
      known: Map[ClusterPartition, PartitionTimes],
      found: Iterable[(ClusterPartition, PartitionTimes)]
  ): Map[ClusterPartition, PartitionTimes] = found.foldLeft(known) { case (all, (of, times)) =>
    all.updated(of, all.get(of).fold(times)(_.and(times)))
  }
}
