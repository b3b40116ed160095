package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{CompositeOffset, Loss, NextOffset, OffsetRange, Positions}

/**
 * The records that the query has given up since it was started: `failOnDataLoss=false`, `unreachableReplayPolicy=skip`,
 * `replacedClusterPolicy`. As far as the driver knows their number: of a log that is gone it knows the last
 * end that was found. Used only by the thread of the query.
 */
private[source] final class LostRecords {
  private var count = 0L

  def total: Long = count

  /** Records of a logged batch that are not read. */
  def add(ranges: Iterable[OffsetRange]): Unit = count += ranges.iterator.map(_.size).sum

  /**
   * Called when the next offset is final: each loss is in one offset.
   *
   * @param start the positions before
   * @param ends the latest offsets that were known before this trigger, by cluster
   */
  def add(start: CompositeOffset, next: NextOffset, ends: SortedMap[String, Positions]): Unit =
    count += LostRecords.of(start, next, ends)
}

private[source] object LostRecords {

  def of(start: CompositeOffset, next: NextOffset, ends: SortedMap[String, Positions]): Long = {
    val replaced = next.replaced.map(_.cluster).toSet
    // The others keep their positions until all of their partitions have answered.
    val done = next.replaced.filter(r => next.identities.get(r.cluster).exists(_.kafkaId.contains(r.found)))
    next.losses.filterNot(loss => replaced(loss.cluster)).map(ofLoss(_, ends)).sum +
      done.iterator.map(_.cluster).map(id =>
        unread(start.position(id), ends.getOrElse(id, Positions.empty))
      ).sum
  }

  private def ofLoss(loss: Loss, ends: SortedMap[String, Positions]): Long = loss match {
    case l: Loss.Expired => l.earliest - l.known
    case l: Loss.OutOfRange => math.max(0L, l.first - l.asked)
    case l: Loss.TopicRecreated =>
      unread(Positions(Seq(l.topic -> l.known)), ends.getOrElse(l.cluster, Positions.empty))
    // What was cut off had been read. Positions of what is gone are kept: it may return.
    case _ => 0L
  }

  private def unread(positions: Positions, ends: Positions): Long =
    positions.iterator.map { case (topic, p, at) =>
      ends.get(topic, p).fold(0L)(end => math.max(0L, end - at))
    }.sum
}
