package io.github.dynamickafka.metadata.service

import io.github.dynamickafka.time.Clock

/**
 * The last answer, for as long as it may be used again. Thread-safe. A failure is not kept, and leaves what is kept
 * as it is: it is asked again at the next call.
 *
 * @param ttlMs 0: every call asks
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
}
