package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{CompositeOffset, Loss, NextOffset, OffsetRange, Positions}

/**
 * The records that the query has given up since it was started: `failOnDataLoss=false`, `unreachableReplayPolicy=skip`,
 * `replacedClusterPolicy`; and those that it reads again in a cluster that was replaced. As far as the driver knows their number: of a log that is gone it knows the last
 * end that was found. Used only by the thread of the query.
 */
private[source] final class LostRecords {
  private var count = 0L
  private var again = 0L

  def total: Long = count

  /** Records that are read again. */
  def repeated: Long = again

  /** Records of a logged batch that are not read. */
  def add(ranges: Iterable[OffsetRange]): Unit = count += ranges.iterator.map(_.size).sum

  /**
   * Called when the next offset is final: each loss is in one offset.
   *
   * @param start the positions before
   * @param ends the latest offsets that were known before this trigger, by cluster
   */
  def add(start: CompositeOffset, next: NextOffset, ends: SortedMap[String, Positions]): Unit = {
    count += LostRecords.of(start, next, ends)
    again += next.replaced.distinctBy(_.cluster).flatMap(_.continued).map(_.repeated).sum
  }
}

private[source] object LostRecords {

  def of(start: CompositeOffset, next: NextOffset, ends: SortedMap[String, Positions]): Long = {
    val whole = next.replaced.filter(_.of.isEmpty)
    val replaced = whole.map(_.cluster).toSet
    // The others keep their positions until all of their partitions have answered.
    val done = whole.filter(r =>
      r.continued.isEmpty && next.identities.get(r.cluster).exists(_.kafkaId.contains(r.found))
    )
    next.losses.filterNot(loss => replaced(loss.cluster)).map(ofLoss(start, next, _, ends)).sum +
      done.iterator.map(_.cluster).map(id =>
        unread(start.position(id), ends.getOrElse(id, Positions.empty))
      ).sum
  }

  private def ofLoss(
      start: CompositeOffset,
      next: NextOffset,
      loss: Loss,
      ends: SortedMap[String, Positions]
  ): Long = loss match {
    case l: Loss.Expired => l.earliest - l.known
    case l: Loss.AfterHistory => math.max(0L, l.first - l.next)
    case l: Loss.OutOfRange => math.max(0L, l.first - l.asked)
    case l: Loss.TopicRecreated =>
      unread(Positions(Seq(l.topic -> l.known)), ends.getOrElse(l.cluster, Positions.empty))
    case l: Loss.TopicGone => ofDrain(start, next, l.cluster, ends)((topic, _) => topic == l.topic)
    case l: Loss.PartitionGone =>
      ofDrain(start, next, l.cluster, ends)((topic, p) => topic == l.topic && p == l.partition)
    // What was cut off had been read.
    case _ => 0L
  }

  /** Positions of what is gone are kept, because it may return, unless a drain ends there. */
  private def ofDrain(
      start: CompositeOffset,
      next: NextOffset,
      id: String,
      ends: SortedMap[String, Positions]
  )(isGone: (String, Int) => Boolean): Long = {
    val targets = start.draining.getOrElse(id, Positions.empty)
    val (after, kept) =
      (next.draining.getOrElse(id, Positions.empty), next.carried.getOrElse(id, Positions.empty))
    val ended = start.position(id).filter((topic, p) =>
      isGone(topic, p) && (targets.topics(topic) || after.topics(topic)) &&
        kept.get(topic, p).forall(after.get(topic, p).contains)
    )
    unread(ended, ends.getOrElse(id, Positions.empty) ++ targets)
  }

  private def unread(positions: Positions, ends: Positions): Long =
    positions.iterator.map { case (topic, p, at) =>
      ends.get(topic, p).fold(0L)(end => math.max(0L, end - at))
    }.sum
}
