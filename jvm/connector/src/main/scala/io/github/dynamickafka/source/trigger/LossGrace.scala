package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.offset.Loss

/**
 * How long topics and partitions have been missing. A broker that has just started, or lags behind the controller, may not
 * know every topic, so what is missing counts as lost after `graceMs`; all other losses count at once. The metadata may not have
 * them any more: before, the service is asked.
 *
 * Used only by the thread of the query.
 */
private[source] final class LossGrace(graceMs: Long, metadata: LossGrace.Metadata = LossGrace.Final) {
  import LossGrace._

  private var missing = Map.empty[Loss, Missing]

  /** Whether this counts as lost, if it is found at this time. */
  def isLost(loss: Loss, now: Long): Boolean = !canReturn(loss) ||
    missing.get(loss).fold(graceMs <= 0)(first =>
      now - first.since >= graceMs && first.asked.forall(metadata.reads(loss.cluster, loss.topic, _))
    )

  /**
   * Stores since when these are missing.
   *
   * @param losses all losses of a trigger
   * @return those that count as lost
   */
  def observe(losses: Seq[Loss], now: Long): Seq[Loss] = {
    missing = losses.filter(canReturn).map { loss =>
      loss -> missing.getOrElse(loss, Missing(now, metadata.ask()))
    }.toMap
    losses.filter(isLost(_, now))
  }
}

private[source] object LossGrace {

  /** What the metadata of the query say about what is missing. */
  trait Metadata {

    /** Asks the service. Returns the number of the request, if there is one. */
    def ask(): Option[Long]

    /** Whether, by an answer to this request or to a later one, the query has to read the topic. */
    def reads(cluster: String, topic: String, asked: Long): Boolean
  }

  /** Metadata that do not change. */
  object Final extends Metadata {
    override def ask(): Option[Long] = None
    override def reads(cluster: String, topic: String, asked: Long): Boolean = true
  }

  private final case class Missing(since: Long, asked: Option[Long])

  private def canReturn(loss: Loss) = loss match {
    case _: Loss.TopicGone | _: Loss.PartitionGone => true
    case _ => false
  }
}
