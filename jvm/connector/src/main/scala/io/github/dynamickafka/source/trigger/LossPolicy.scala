package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.Loss

/**
 * What lost records mean: `failOnDataLoss` decides. Each loss is logged once.
 *
 * @param graceMs how long a topic that has been read may be missing before it counts as gone: a broker that has
 *                just started, or lags behind the controller, does not know every topic. None while nothing
 *                else can be done than to decide now
 */
private[source] final class LossPolicy(failOnDataLoss: Boolean, graceMs: Long) {
  private val log = LoggerFactory.getLogger(classOf[LossPolicy])
  private var told = Set.empty[Loss]
  private var missingSince = Map.empty[Loss, Long]

  /** @throws DynamicKafkaRuntimeException `DATA_LOSS` */
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
    if (failOnDataLoss) throw Errors.dataLoss(loss.cluster, loss.topic, loss.text)
    if (!told(loss)) {
      log.warn(
        "Kafka cluster '{}', topic '{}': {}; failOnDataLoss is false, so the query goes on",
        loss.cluster,
        loss.topic,
        loss.text
      )
      told += loss
    }
  }
}
