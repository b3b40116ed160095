package io.github.dynamickafka.base

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
