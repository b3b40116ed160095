package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.github.dynamickafka.offset.{
  CompositeOffset,
  MeanSize,
  NextOffset,
  OffsetRange,
  Positions,
  Span,
  UnreadFiles
}

/**
 * Determines where batches end, and stores what is required to plan them again. Used only by the thread of the query.
 *
 * @param unread the files of histories that are not read at an offset
 * @param sizes of the records of a log that a trigger reads, as tasks have reported them
 */
private[source] final class PlannedBatches(
    state: QueryState,
    aligner: Aligner,
    unread: CompositeOffset => Option[UnreadFiles],
    sizes: (NextOffset, Span) => Option[MeanSize]
) {
  import PlannedBatches._
  import state._

  private val limits = new Limits
  private var last: Option[PlannedBatch] = None

  /**
   * The end of the batch after `start`; the same object if there is no batch.
   *
   * @param known the latest offsets that were known before this trigger, by cluster
   * @param now monotonic milliseconds
   * @param wait whether the batch may be delayed until there are `minOffsetsPerTrigger` records
   */
  def end(
      start: CompositeOffset,
      snapshot: TriggerSnapshot,
      known: SortedMap[String, Positions],
      limit: ReadLimit,
      now: Long,
      wait: Boolean
  ): CompositeOffset = {
    // Without alignment, a batch of Kafka comes after all files.
    val files = if (aligner.isAligned(limit)) unread(start) else None
    if (files.isEmpty && last.exists(_.isIdle(start, snapshot))) {
      aligner.idle()
      start
    } else {
      val readable = aligner.align(snapshot, limit, wait, files)
      val spans = readable.spans
      val granted =
        if (readable.left.isDefined) spans.map(_ => 0L)
        else limits.grant(
          spans,
          limit,
          snapshot.trigger.configs.all.maxOffsetsPerTrigger(_),
          now,
          wait,
          sizes(snapshot.next, _)
        )
      val left = readable.left.orElse(files)
      aligner.planned(spans, granted, left)
      val computed = snapshot.next.offset(granted)
      // The offset includes the history: what is deferred enters again by an offset that has another text than the one before.
      val withFiles = left.fold(computed)(files => computed.copy(history = files.read))
      val (end, ranges) = endOf(start, withFiles, isBatch = readable.left.isDefined)
      checkpoint.remember(snapshot.topology, logged.named)
      if (end ne start) lost.add(snapshot.trigger.start, snapshot.next, known)
      last = Some(PlannedBatch(start, end, ranges, snapshot))
      end
    }
  }

  /** The ranges to read of a batch that this run has planned and that is logged now, by cluster. */
  def ranges(start: CompositeOffset, end: CompositeOffset): Option[SortedMap[String, Seq[OffsetRange]]] =
    last.filter(batch => batch.end == end && batch.start == start)
      .map(batch => deferred.of(start, end).fold(batch.ranges)(_.rest(batch.ranges)))
}

private[source] object PlannedBatches {

  /** @param ranges by cluster */
  private final case class PlannedBatch(
      start: CompositeOffset,
      end: CompositeOffset,
      ranges: SortedMap[String, Seq[OffsetRange]],
      snapshot: TriggerSnapshot
  ) {

    /** Whether this was no batch, and nothing has changed since. */
    def isIdle(nextStart: CompositeOffset, next: TriggerSnapshot): Boolean =
      (snapshot eq next) && (start eq nextStart) && (end eq nextStart) && next.next.spans.forall(_.lag == 0L)
  }
}
