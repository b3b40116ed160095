package io.github.dynamickafka.kafka

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.kafka.clients.producer.ProducerRecord

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

  /**
   * Why a record would be refused. By the clock of the caller, which may differ from that of the broker.
   */
  def refuses(hasKey: Boolean, timestampMs: Option[Long], nowMs: Long): Option[String] =
    if (isCompacted && !hasKey) Some("the topic is compacted, and the record has no key")
    else
      timestampMs.filter(t => beforeMs.exists(nowMs - t > _) || afterMs.exists(t - nowMs > _))
        .map(t => s"its timestamp $t differs from the time of the write by more than the topic takes")

  /**
   * Why an uncompressed record would be refused. Alone a broker refuses it; beside others, Kafka's client before 4.1 sends its batch
   * again and again until the records expire.
   */
  def tooLarge(record: ProducerRecord[Array[Byte], Array[Byte]]): Option[String] = maxBytes.flatMap { most =>
    val bytes = TopicLimits.batchBytes(record)
    Option.when(bytes > most)(
      s"the record is too large: it has $bytes bytes, and the topic takes $most ('max.message.bytes')"
    )
  }
}

private[dynamickafka] object TopicLimits {

  /** Of a batch without records, in the format of Kafka 0.11 and later. */
  private val BatchOverhead = 61L

  /** Attributes, and the differences of time and offset to the batch, which are 0 for its only record. */
  private val RecordOverhead = 3L

  /** The size of a batch with this record alone. */
  private def batchBytes(record: ProducerRecord[Array[Byte], Array[Byte]]): Long = {
    var body = RecordOverhead + field(record.key) + field(record.value)
    var count = 0
    record.headers.forEach { header =>
      count += 1
      body += field(header.key.getBytes(UTF_8)) + field(header.value)
    }
    body += varint(count.toLong)
    BatchOverhead + varint(body) + body
  }

  private def field(bytes: Array[Byte]): Long =
    if (bytes == null) 1L else varint(bytes.length.toLong) + bytes.length

  /** Of a number that is not negative, in zigzag encoding. */
  private def varint(n: Long): Long = math.max(1, (71 - java.lang.Long.numberOfLeadingZeros(n)) / 7).toLong

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
