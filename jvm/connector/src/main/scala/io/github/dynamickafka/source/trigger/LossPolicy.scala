package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.offset.Loss

/**
 * Fails the query for lost records or logs them, depending on `failOnDataLoss`: for each kind of loss and each partition
 * once in [[LossPolicy.LogAgainMs]], because a topic that is read too slowly may lose records in every trigger.
 *
 * @param graceMs how long a known topic or partition may be missing, as in [[LossGrace]]
 * @param metadata is asked before something that is missing counts as lost
 */
private[source] final class LossPolicy(
    failOnDataLoss: Boolean,
    graceMs: Long,
    metadata: LossGrace.Metadata = LossGrace.Final
) {
  private val log = LoggerFactory.getLogger(classOf[LossPolicy])
  private val grace = new LossGrace(graceMs, metadata)
  private var lastLoggedMs = Map.empty[LossPolicy.Key, Long]

  /** Whether this counts as lost, if it is found at this time. */
  def isLost(loss: Loss, now: Long): Boolean = grace.isLost(loss, now)

  /**
   * @param waitForTopics whether to wait for `graceMs`; false if the batch must be decided now
   * @param isDrained whether the query would not have read anything of what is gone
   * @return whether something is missing that does not count as lost yet
   * @throws DynamicKafkaRuntimeException `DATA_LOSS`, `TOPIC_RECREATED`
   */
  def judge(
      losses: Seq[Loss],
      now: Long,
      waitForTopics: Boolean,
      isDrained: Loss => Boolean = _ => false
  ): Boolean = {
    lastLoggedMs = lastLoggedMs.filter { case (_, at) => now - at < LossPolicy.LogAgainMs }
    val lost = if (waitForTopics) grace.observe(losses, now) else losses
    lost.filterNot(isDrained).foreach(decide(_, now))
    lost.size < losses.size
  }

  private def decide(loss: Loss, now: Long): Unit = {
    if (failOnDataLoss) throw loss.error
    val key = LossPolicy.key(loss)
    if (!lastLoggedMs.contains(key)) {
      log.warn(
        "Kafka cluster '{}', topic '{}': {}; the query continues because 'failOnDataLoss' is false",
        loss.cluster,
        loss.topic,
        loss.text
      )
      lastLoggedMs += key -> now
    }
  }
}

private[source] object LossPolicy {
  val LogAgainMs = 60000L

  /** The kind of the loss, cluster, topic, and partition or -1. */
  private type Key = (String, String, String, Int)

  private def key(loss: Loss): Key = {
    val partition = loss.productIterator.collectFirst { case partition: Int => partition }
    (loss.productPrefix, loss.cluster, loss.topic, partition.getOrElse(-1))
  }
}
