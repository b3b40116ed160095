package io.github.dynamickafka.source.ahead

import io.github.dynamickafka.time.Clock

/**
 * Recognizes the triggers of an idle query that would find the same as the last one, because no cluster has to be asked. Such a
 * trigger only pauses for some milliseconds: Spark begins one each 10 ms (`spark.sql.streaming.pollingDelay`), and its own
 * work for a trigger would be most of what an idle query costs. Used only by the thread of the query.
 *
 * @param until until when the responses of all clusters stay the same, in monotonic milliseconds
 */
private[source] final class IdleTriggers[Q <: AnyRef, V](until: () => Long, clock: Clock) {
  import IdleTriggers._

  private var last: Option[(Q, V)] = None
  private var endedAt = Long.MinValue

  /** Since when there has been no batch. */
  private var idleSince = Long.MinValue

  /** What the last trigger found, if this one asks the same: the same object of questions. */
  def answers(questions: Q): Option[V] =
    last.filter(_._1 eq questions).map(_._2).filter { _ =>
      val begun = clock.monotonicMs()
      val end = until()
      val isIdle = begins(begun)
      val isSame = begun < end
      val restMs = math.min(restOf(begun - idleSince), end - begun)
      // After a batch, which other sources of the query may have more to read for, it does not rest.
      if (isSame && isIdle) clock.pauseMs(restMs)
      endedAt = clock.monotonicMs()
      isSame && endedAt < until()
    }

  /** @param views what a trigger with these questions has found */
  def asked(questions: Q, views: V): Unit = {
    last = Some((questions, views))
    val _ = begins(clock.monotonicMs())
    endedAt = clock.monotonicMs()
  }

  /** Whether there was no batch since the last trigger. */
  private def begins(now: Long): Boolean = {
    val isIdle = endedAt != Long.MinValue && now - endedAt <= IdleMs
    if (!isIdle) idleSince = now
    isIdle
  }
}

private[source] object IdleTriggers {

  /**
   * A record that arrives meanwhile is found when its cluster is asked next, which the rest does not delay. It delays the
   * other sources of a query: therefore it is short compared with the time without a record.
   */
  private val RestMs = 15L
  private val LongestRestMs = 100L
  private def restOf(idleMs: Long): Long = math.min(LongestRestMs, math.max(RestMs, idleMs / 20))

  /** Longer than Spark waits between two triggers without records, shorter than a batch takes. */
  private val IdleMs = 40L
}
