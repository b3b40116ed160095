package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.Loss

/**
 * Fails the query for lost records or logs them, depending on `failOnDataLoss`: for each kind of loss and each partition
 * once in [[LossPolicy.TellAgainMs]], because a topic that is read too slowly may lose records in every trigger.
 *
 * @param graceMs how long a known topic or partition may be missing before it counts as deleted, in milliseconds,
 *                because a broker that has just started, or lags behind the controller, may not know every topic
 */
private[source] final class LossPolicy(failOnDataLoss: Boolean, graceMs: Long) {
  private val log = LoggerFactory.getLogger(classOf[LossPolicy])
  private var told = Map.empty[LossPolicy.Key, Long]
  private var missingSince = Map.empty[Loss, Long]

  /**
   * @param waitForTopics whether to wait for `graceMs`; false if the batch must be decided now
   * @return whether something is missing that does not count as deleted yet
   * @throws DynamicKafkaRuntimeException `DATA_LOSS`, `TOPIC_RECREATED`
   */
  def judge(losses: Seq[Loss], now: Long, waitForTopics: Boolean): Boolean = {
    val missing = if (waitForTopics) losses.filter(LossPolicy.canReturn) else Nil
    missingSince = missing.map(loss => loss -> missingSince.getOrElse(loss, now)).toMap
    told = told.filter { case (_, at) => now - at < LossPolicy.TellAgainMs }
    val (waiting, lost) = losses.partition(loss => missingSince.get(loss).exists(now - _ < graceMs))
    lost.foreach(decide(_, now))
    waiting.nonEmpty
  }

  private def decide(loss: Loss, now: Long): Unit = {
    if (failOnDataLoss) throw LossPolicy.error(loss)
    val key = LossPolicy.key(loss)
    if (!told.contains(key)) {
      log.warn(
        "Kafka cluster '{}', topic '{}': {}; the query continues because 'failOnDataLoss' is false",
        loss.cluster,
        loss.topic,
        loss.text
      )
      told += key -> now
    }
  }
}

private[source] object LossPolicy {
  val TellAgainMs = 60000L

  /** The kind of the loss, cluster, topic, and partition or -1. */
  private type Key = (String, String, String, Int)

  private def canReturn(loss: Loss) = loss match {
    case _: Loss.TopicGone | _: Loss.PartitionGone => true
    case _ => false
  }

  private def key(loss: Loss): Key = {
    val partition = loss.productIterator.collectFirst { case partition: Int => partition }
    (loss.productPrefix, loss.cluster, loss.topic, partition.getOrElse(-1))
  }

  def error(loss: Loss): Errors.Runtime = loss match {
    case l: Loss.TopicRecreated => Errors.topicRecreated(l.cluster, l.topic, l.oldId, l.newId, l.partitions)
    case other => Errors.dataLoss(other.cluster, other.topic, other.text)
  }
}
