package io.github.dynamickafka.offset

/**
 * The range of one partition that a trigger can read, before limits.
 *
 * @param enters true if `from` differs from the position at the start of the batch, so that it must be logged
 */
private[dynamickafka] final case class Span(
    cluster: String,
    topic: String,
    partition: Int,
    from: Long,
    end: Long,
    enters: Boolean
) {
  def lag: Long = math.max(0L, end - from)
}
