package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.Loss

/**
 * Fails the query for lost records or logs each loss once, depending on `failOnDataLoss`.
 *
 * @param graceMs how long a known topic or partition may be missing before it counts as deleted, in milliseconds,
 *                because a broker that has just started, or lags behind the controller, may not know every topic
 */
private[source] final class LossPolicy(failOnDataLoss: Boolean, graceMs: Long) {
  private val log = LoggerFactory.getLogger(classOf[LossPolicy])
  private var told = Set.empty[Loss]
  private var missingSince = Map.empty[Loss, Long]

  /**
   * @param waitForTopics whether to wait for `graceMs`; false if the batch must be decided now
   * @throws DynamicKafkaRuntimeException `DATA_LOSS`, `TOPIC_RECREATED`
   */
  def judge(losses: Seq[Loss], now: Long, waitForTopics: Boolean): Unit = {
    missingSince = missingSince.filter { case (loss, _) => losses.contains(loss) }
    losses.foreach {
      case loss @ (_: Loss.TopicGone | _: Loss.PartitionGone) if waitForTopics =>
        if (!missingSince.contains(loss)) missingSince += loss -> now
        if (now - missingSince(loss) >= graceMs) decide(loss)
      case loss => decide(loss)
    }
  }

  private def decide(loss: Loss): Unit = {
    if (failOnDataLoss) throw LossPolicy.error(loss)
    if (!told(loss)) {
      log.warn(
        "Kafka cluster '{}', topic '{}': {}; the query continues because 'failOnDataLoss' is false",
        loss.cluster,
        loss.topic,
        loss.text
      )
      told += loss
    }
  }
}

private[source] object LossPolicy {
  def error(loss: Loss): Errors.Runtime = loss match {
    case l: Loss.TopicRecreated => Errors.topicRecreated(l.cluster, l.topic, l.oldId, l.newId, l.partitions)
    case other => Errors.dataLoss(other.cluster, other.topic, other.text)
  }
}
