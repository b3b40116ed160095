package io.github.dynamickafka.kafka

/**
 * What brokers accept in a topic, by its settings.
 *
 * @param isCompacted whether each record needs a key
 * @param beforeMs how far a timestamp may lie before the time of the broker; None: timestamps are not checked
 * @param afterMs the same, for later timestamps
 */
private[dynamickafka] final case class TopicLimits(
    maxBytes: Option[Int],
    isCompacted: Boolean,
    beforeMs: Option[Long],
    afterMs: Option[Long]
) {

  /** Why a record would be refused. By the clock of the caller, which may differ from that of the broker. */
  def refuses(hasKey: Boolean, timestampMs: Option[Long], nowMs: Long): Option[String] =
    if (isCompacted && !hasKey) Some("the topic is compacted, and the record has no key")
    else
      timestampMs.filter(t => beforeMs.exists(nowMs - t > _) || afterMs.exists(t - nowMs > _))
        .map(t => s"its timestamp $t differs from the time of the write by more than the topic takes")
}

private[dynamickafka] object TopicLimits {
  def apply(setting: String => Option[String]): TopicLimits = {
    val isChecked = !setting("message.timestamp.type").contains("LogAppendTime")
    def most(name: String) = setting(name).flatMap(_.toLongOption).filter(_ => isChecked)
    TopicLimits(
      setting("max.message.bytes").flatMap(_.toIntOption),
      setting("cleanup.policy").exists(_.contains("compact")),
      most("message.timestamp.before.max.ms"),
      most("message.timestamp.after.max.ms")
    )
  }
}
