package io.github.dynamickafka.base

import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicLong

/** A clock that only advances when a test advances it. Both kinds of time start at 0. */
class ManualClock extends Clock {
  private val nanos = new AtomicLong

  override def nanoTime(): Long = nanos.get
  override def currentTimeMillis(): Long = TimeUnit.NANOSECONDS.toMillis(nanos.get)

  def advanceMs(ms: Long): Unit = {
    val _ = nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(ms))
  }
}
