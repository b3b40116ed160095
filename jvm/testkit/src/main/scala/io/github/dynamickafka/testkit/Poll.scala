package io.github.dynamickafka.testkit

import java.util.concurrent.TimeoutException

import scala.annotation.tailrec
import scala.concurrent.duration._

private[testkit] object Poll {
  private val Interval = 100.millis

  /**
   * Returns as soon as `condition` holds.
   *
   * @throws java.util.concurrent.TimeoutException with `what` in its message, if it does not hold within `patience`
   */
  def until(what: => String, patience: FiniteDuration = 2.minutes)(condition: => Boolean): Unit = {
    val deadline = patience.fromNow
    @tailrec def loop(): Unit =
      if (!condition) {
        if (deadline.isOverdue()) throw new TimeoutException(s"not within $patience: $what")
        // The pause between two checks: the condition depends on another process.
        Thread.sleep(Interval.toMillis)
        loop()
      }
    loop()
  }
}
