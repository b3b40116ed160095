package io.github.dynamickafka.storage

import java.util.concurrent.{ScheduledThreadPoolExecutor, TimeUnit}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.DaemonThreads

/** Shows that something is being done, on a thread of its own, so that it also does while a request hangs. */
private[dynamickafka] object Heartbeat {
  private val log = LoggerFactory.getLogger(Heartbeat.getClass)

  /**
   * Calls `beat` at intervals while `body` runs, and `end` after it if there was a beat. The first beat comes after one
   * interval, so that a short body costs nothing. Errors of both are logged: they must not fail the body.
   */
  def during[A](everyMs: Long, beat: () => Unit, end: () => Unit)(body: => A): A = {
    val state = new State(beat, end)
    val task = threads.scheduleWithFixedDelay(() => state.next(), everyMs, everyMs, TimeUnit.MILLISECONDS)
    try body
    finally {
      val _ = task.cancel(false)
      state.finish()
    }
  }

  private final class State(beat: () => Unit, end: () => Unit) {
    private var isOver, hasBeaten = false

    def next(): Unit = synchronized {
      if (!isOver) {
        hasBeaten = true
        quietly(beat)
      }
    }

    // Waits for a beat that has begun, which would restore what `end` removes.
    def finish(): Unit = synchronized {
      isOver = true
      if (hasBeaten) quietly(end)
    }

    private def quietly(action: () => Unit): Unit =
      try action()
      catch { case NonFatal(e) => log.debug("A heartbeat failed", e) }
  }

  private lazy val threads: ScheduledThreadPoolExecutor = {
    val pool = new ScheduledThreadPoolExecutor(1, new DaemonThreads("dynamic-kafka-heartbeat"))
    pool.setRemoveOnCancelPolicy(true)
    pool
  }
}
