package io.github.dynamickafka.base

import java.util.concurrent.TimeUnit

/**
 * The time, as everything in the connector reads it, so that tests set it instead of waiting for it. Thread-safe and
 * serializable: readers on executors have one as well.
 */
private[dynamickafka] trait Clock extends Serializable {

  /** Nanoseconds from an arbitrary origin, never backwards: for durations and deadlines within one process. */
  def nanoTime(): Long

  /** Milliseconds since the epoch, which may jump: for times that outlive the process. */
  def currentTimeMillis(): Long

  /** Blocks the calling thread for this number of milliseconds. */
  def pauseMs(ms: Long): Unit = Thread.sleep(ms)

  /** [[nanoTime]] in milliseconds. */
  final def monotonicMs(): Long = TimeUnit.NANOSECONDS.toMillis(nanoTime())
}

private[dynamickafka] object Clock {
  object System extends Clock {
    override def nanoTime(): Long = java.lang.System.nanoTime()
    override def currentTimeMillis(): Long = java.lang.System.currentTimeMillis()
  }
}

/**
 * Pauses between the attempts of something that fails: each one twice as long as the one before.
 *
 * @param firstMs pause after the first failure
 * @param longestMs no pause is longer
 */
private[dynamickafka] final case class Backoff(firstMs: Long, longestMs: Long) {

  /** @param failures failures in a row so far, 1 or more */
  def pauseMs(failures: Int): Long =
    math.min(longestMs, firstMs << math.min(failures - 1, Backoff.MostDoublings))
}

private[dynamickafka] object Backoff {

  /** Between two requests to a cluster that does not answer. */
  val OfClusters: Backoff = Backoff(firstMs = 500L, longestMs = 30000L)

  private val MostDoublings = 20
}

/** How long one of several attempts may take. */
private[dynamickafka] object AttemptLimit {

  private val ShortestMs = 5000L

  /**
   * The time limit of one attempt, within a time limit for several attempts: a connection may wait for a server that is gone until the
   * end of its own time limit, where a new connection does not.
   */
  def ms(limitMs: Long): Long = math.min(limitMs, math.max(limitMs / 4, ShortestMs))
}
