package io.github.dynamickafka.offset.replacement

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.alignment.LogKey
import io.github.dynamickafka.offset.{CompositeOffset, Positions}

/** A record that was read, and its time in milliseconds since the epoch. */
private[dynamickafka] final case class LastRecord(offset: Long, time: Long)

/**
 * What is known of the records of a partition below a position.
 *
 * @param position the next offset to read
 * @param batchMs the time of the batch that has reached it, in milliseconds since the epoch
 * @param last the last record that was read, if its time is known
 */
private[dynamickafka] final case class ReadUpTo(position: Long, batchMs: Long, last: Option[LastRecord]) {

  /** Records from the position on are hardly older. At the first offset of a log, all of them are unread. */
  def timeMs: Long = if (position == 0) 0L else last.fold(batchMs)(record => math.min(record.time, batchMs))
}

/** The same of all partitions whose positions a query has. Immutable. */
private[dynamickafka] final case class RecordsRead(partitions: Map[LogKey, ReadUpTo]) {

  /**
   * The same object if no position has changed.
   *
   * @param reached the positions after a batch
   * @param last the last record that tasks have read of a partition, perhaps of a former log
   */
  def after(reached: CompositeOffset, batchMs: Long, last: LogKey => Option[LastRecord]): RecordsRead = {
    val entered = reached.entered
    val kept = reached.retained.map { case (id, positions) => id -> positions.positions }
    val next = (reached.clusters.iterator ++ kept.iterator).flatMap { case (id, positions) =>
      positions.iterator.map { case (topic, p, at) =>
        val key = LogKey(id, topic, p)
        val known = partitions.get(key)
        key -> known.filter(_.position == at).getOrElse {
          val from = entered.get(id).flatMap(_.get(topic, p)).orElse(known.map(_.position)).getOrElse(0L)
          val read = last(key).filter(record => record.offset >= from && record.offset < at)
          // The batch has read no record, as after a transaction that was aborted.
          val before = known.flatMap(_.last).filter(record => from <= at && record.offset < from)
          ReadUpTo(at, batchMs, read.orElse(before))
        }
      }
    }.toMap
    if (next == partitions) this else RecordsRead(next)
  }

  /**
   * Of the partitions of a cluster that are at these positions.
   *
   * @param lastBatchMs the time of the last batch, for partitions of which nothing is known
   */
  def of(id: String, positions: Positions, lastBatchMs: Long): Map[(String, Int), ReadUpTo] =
    positions.iterator.map { case (topic, p, at) =>
      val known = partitions.get(LogKey(id, topic, p)) match {
        case None => ReadUpTo(at, lastBatchMs, None)
        // The position was set back by an operator: nothing is known of the records below it.
        case Some(beyond) if beyond.position > at => ReadUpTo(at, 0L, None)
        case Some(known) => known
      }
      (topic, p) -> known
    }.toMap
}

private[dynamickafka] object RecordsRead {
  val none: RecordsRead = RecordsRead(Map.empty)

  /** By cluster. */
  def positions(of: Iterable[(LogKey, Long)]): SortedMap[String, Positions] =
    SortedMap.from(of.groupBy(_._1.cluster).map { case (id, ofCluster) =>
      id -> Positions.from(ofCluster.map { case (key, at) => (key.topic, key.partition, at) })
    })
}
