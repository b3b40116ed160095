package io.github.dynamickafka.source.ahead

import io.github.dynamickafka.time.Clock

/**
 * The times at which a query has nothing to read and nothing to ask. Its triggers then do nothing but rest for some
 * milliseconds: Spark begins one each 10 ms (`spark.sql.streaming.pollingDelay`), and its own work for a trigger would be most
 * of what an idle query costs. Used only by the thread of the query.
 *
 * @param until until when all clusters would be answered for as they were last, in monotonic milliseconds
 * @param sleep sleeps for some milliseconds
 */
private[source] final class Calm[Q <: AnyRef, V](until: () => Long, clock: Clock, sleep: Long => Unit) {
  import Calm._

  private var last: Option[(Q, V)] = None
  private var endedAt = Long.MinValue

  /** What the last trigger found, if this one asks the same: the same object of questions. */
  def answers(questions: Q): Option[V] =
    last.filter(_._1 eq questions).map(_._2).filter { _ =>
      val begun = clock.monotonicMs()
      val restMs = math.min(RestMs, until() - begun)
      val isCalm = restMs > 0
      // After a batch, which other sources of the query may have more to read for, it does not rest.
      if (isCalm && begun - endedAt <= IdleMs) sleep(restMs)
      if (isCalm) endedAt = clock.monotonicMs()
      isCalm && endedAt < until()
    }

  /** @param views what a trigger with these questions has found */
  def asked(questions: Q, views: V): Unit = {
    last = Some((questions, views))
    endedAt = clock.monotonicMs()
  }
}

private[source] object Calm {

  /** A record that arrives meanwhile is found when its cluster is asked next, which the rest does not delay. */
  private val RestMs = 15L

  /** Longer than Spark waits between two triggers without records, shorter than a batch takes. */
  private val IdleMs = 40L
}
