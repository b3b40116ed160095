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

  /** The clock of the machine. */
  object System extends Clock {
    override def nanoTime(): Long = java.lang.System.nanoTime()
    override def currentTimeMillis(): Long = java.lang.System.currentTimeMillis()
  }
}
