package io.github.dynamickafka.metadata.service

import io.github.dynamickafka.time.Clock

/**
 * Caches the last answer for a limited time. Thread-safe. A failure is not cached and does not change the cached
 * answer.
 *
 * @param ttlMs milliseconds; 0: every call evaluates `ask`
 */
private[metadata] final class TtlCache[A](ttlMs: Long, clock: Clock = Clock.System) {
  private var cached: Option[(Long, A)] = None

  def get(ask: => A): A = synchronized {
    val now = clock.nanoTime()
    cached match {
      case Some((at, answer)) if now - at < ttlMs * 1000000L => answer
      case _ =>
        val answer = ask
        cached = Some((now, answer))
        answer
    }
  }

  /** The next call asks. */
  def forget(): Unit = synchronized { cached = None }
}
