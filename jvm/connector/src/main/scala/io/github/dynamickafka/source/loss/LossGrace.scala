package io.github.dynamickafka.source.loss

import io.github.dynamickafka.offset.Loss

/**
 * How long topics and partitions have been missing. A broker that has just started, or lags behind the controller, may not
 * know every topic, so what is missing counts as lost after `graceMs`; all other losses count at once.
 *
 * Used only by the thread of the query.
 */
private[source] final class LossGrace(graceMs: Long) {
  private var missingSince = Map.empty[Loss, Long]

  /** Whether this counts as lost, if it is found at this time. */
  def isLost(loss: Loss, now: Long): Boolean =
    !LossGrace.canReturn(loss) || now - missingSince.getOrElse(loss, now) >= graceMs

  /**
   * Stores since when these are missing.
   *
   * @param losses all losses of a trigger
   * @return those that count as lost
   */
  def observe(losses: Seq[Loss], now: Long): Seq[Loss] = {
    missingSince =
      losses.filter(LossGrace.canReturn).map(loss => loss -> missingSince.getOrElse(loss, now)).toMap
    losses.filter(isLost(_, now))
  }
}

private[source] object LossGrace {
  private def canReturn(loss: Loss) = loss match {
    case _: Loss.TopicGone | _: Loss.PartitionGone => true
    case _ => false
  }
}
