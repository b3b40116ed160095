package io.github.dynamickafka.base

/** How long one of several attempts may take. */
private[dynamickafka] object AttemptLimit {

  private val ShortestMs = 5000L

  /**
   * The time limit of one attempt, within a time limit for several attempts: a connection may wait for a server that is gone until the
   * end of its own time limit, where a new connection does not.
   */
  def ms(limitMs: Long): Long = math.min(limitMs, math.max(limitMs / 4, ShortestMs))
}
