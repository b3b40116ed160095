package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.offset.{CompositeOffset, Deferral, Deferrals, OffsetRange}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint

/**
 * Ranges of logged batches that are read in later batches: `unreachableReplayPolicy=defer`. What is deferred of a batch is
 * decided once and applies with any policy: a batch that is read once more is the same.
 *
 * Used only by the thread of the query.
 *
 * @param withState whether batches of queries with stateful operators are deferred, too
 */
private[source] final class DeferredRanges(checkpoint: SourceCheckpoint, withState: Boolean) {
  import DeferredRanges._

  private var read: Option[Deferrals] = None

  /** What is deferred of this batch. */
  def of(start: CompositeOffset, end: CompositeOffset): Option[Deferral] = all.of(start, end)

  /** The positions that the query has reached at this offset. Like [[records]], reads nothing and cannot fail. */
  def reached(offset: CompositeOffset): CompositeOffset = read.fold(offset)(_.reached(offset))

  /** The number of deferred records that have not been read, if this is the offset of the last completed batch. */
  def records(offset: CompositeOffset): Long =
    read.fold(0L)(_.left(offset).valuesIterator.flatten.map(_.size).sum)

  /**
   * Defers these ranges of a logged batch. Returns when this is durable.
   *
   * @param clusters why, for the log
   * @return why they cannot be deferred, if they cannot
   */
  def defer(
      start: CompositeOffset,
      end: CompositeOffset,
      ranges: SortedMap[String, Seq[OffsetRange]],
      clusters: String = "Unreachable clusters"
  ): Option[String] = {
    val batch = deferrable(start, end)
    batch.foreach { number =>
      val deferral = Deferral(start, end, ranges)
      // Left from another batch that had this number, before an earlier state of the checkpoint was restored.
      if (all.all.get(number).exists(_.entered)) checkpoint.deferrals.delete(number)
      checkpoint.deferrals.write(number, deferral)
      read = Some(all.added(number, deferral))
      log.warn(
        s"$clusters: these ${ranges.valuesIterator.flatten.map(_.size).sum} records of batch $number, which was " +
          s"logged, are deferred to a later batch: ${show(ranges)}"
      )
    }
    batch.left.toOption
  }

  /** @param start the start offset of the next batch, which is read */
  def committed(start: CompositeOffset): Unit = if (all.all.nonEmpty) {
    // With asynchronous progress tracking a later offset may not be logged yet: until it is, the deferral is all that remains.
    val entering = all.entering(start).filter(batch => checkpoint.ofQuery.lastLogged.forall(_ > batch))
    // Durable before the next offset is computed, which can have the text of the end of the deferred batch.
    entering.foreach(checkpoint.deferrals.markEntered)
    read = Some(all.entered(entering))
    val over = all.over(start)
    if (over.nonEmpty) {
      logOver(start, Deferrals(all.all.filter { case (batch, _) => over.contains(batch) }))
      over.foreach(checkpoint.deferrals.delete)
      read = Some(all.without(over))
    }
  }

  /** The offset to log after `start`, for one that was computed from `reached(start)`. */
  def resumed(start: CompositeOffset, next: CompositeOffset): CompositeOffset = {
    all.at(start).foreach(deferral =>
      log.info(
        "Deferred records enter again, and are read as soon as their clusters are reachable: {}",
        show(deferral.ranges)
      )
    )
    all.resumed(start, next)
  }

  private def logOver(start: CompositeOffset, over: Deferrals): Unit = {
    val lost = over.givenUp(start)
    if (lost.nonEmpty)
      log.warn(
        "The offsets of clusters or topics that were removed are no longer retained, so these deferred records are lost " +
          "as far as they have not been read: {}",
        show(lost)
      )
    else log.info("All records that were deferred have been read")
  }

  /** The number of this batch, or why it cannot be deferred. */
  private def deferrable(start: CompositeOffset, end: CompositeOffset): Either[String, Long] =
    checkpoint.ofQuery.lastLogged match {
      case _ if all.of(start, end).isDefined =>
        Left("another part of the batch is deferred already, and this is decided once")
      case None => Left("the checkpoint of the query is not found")
      case Some(_) if checkpoint.ofQuery.hasState && !withState =>
        Left(
          "the query has stateful operators, which can drop records that are late, and 'deferWithState' is not set"
        )
      case Some(batch) if checkpoint.ofQuery.isDecided(batch) =>
        Left("the sink of the query has decided to commit the batch with these records")
      case Some(batch) => Right(batch)
    }

  private def all: Deferrals = read.getOrElse {
    val found = checkpoint.deferrals.read()
    read = Some(found)
    found
  }
}

private[source] object DeferredRanges {
  private val log = LoggerFactory.getLogger(classOf[DeferredRanges])

  def show(ranges: SortedMap[String, Seq[OffsetRange]]): String =
    ranges.map { case (id, ofCluster) => s"cluster '$id': ${ofCluster.mkString(", ")}" }.mkString("; ")
}
