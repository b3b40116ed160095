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

  /** The bytes of a batch without records, in the format of Kafka 0.11 and later. */
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

  /** The bytes of a number that is not negative, in zigzag encoding. */
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

/**
 * Time limits of requests about transactions. A broker that is frozen keeps its connections, so a client waits for
 * `request.timeout.ms` before it looks for the new coordinator; with Kafka's 30 s, each step of a batch may wait that long.
 * A request is therefore limited so that a step is held up for at most 15 s. A property that the user sets
 * takes precedence.
 */
private[dynamickafka] object TransactionTimeLimits {
  private val RequestTimeout = "request.timeout.ms"
  private val DeliveryTimeout = "delivery.timeout.ms"
  private val Linger = "linger.ms"
  private val ConnectionSetup = "socket.connection.setup.timeout.ms"

  // Two of them are longer than the session of a broker, 9 s by default, and the election of a controller, so that the third
  // request reaches another coordinator. Not shorter, because requests with records have to reach distant clusters within it.
  private val taskMs = 6000L

  // These requests are small.
  private val firstMs = 2500L
  private val longestMs = 30000L

  /** Limits producers of tasks, which also send the records. */
  def ofTasks(settings: ProducerSettings): ProducerSettings = limited(settings, taskMs)

  /** Limits producers of another attempt of a task: the records may be too many for the time limit and the distance of the cluster. */
  def ofRetry(settings: ProducerSettings): ProducerSettings = limited(settings, longestMs)

  /** Within the user's `delivery.timeout.ms`, which Kafka requires to be at least as long as a request and `linger.ms`. */
  private def limited(settings: ProducerSettings, requestMs: Long): ProducerSettings = {
    val most = settings.number(DeliveryTimeout).map(_ - settings.number(Linger).getOrElse(0L)).filter(_ > 0L)
    settings.or(RequestTimeout -> math.min(requestMs, most.getOrElse(requestMs)).toString)
  }

  /**
   * For clients of the driver, which send no records.
   *
   * @param failures the attempts that were too slow before: a cluster may be slow without being frozen
   * @param mostMs the time limit of a call, which Kafka requires to be at least as long
   */
  def ofDriver(chosen: Map[String, String], failures: Int, mostMs: Long): Map[String, String] = {
    val limit = math.min(requestMs(failures), mostMs).toString
    Seq(RequestTimeout, ConnectionSetup).filterNot(chosen.contains).map(_ -> limit).toMap
  }

  /** How long one attempt with one client may take, which sends a request several times. */
  def attemptMs(failures: Int): Long = requestMs(failures) * 6

  private def requestMs(failures: Int): Long =
    math.min(longestMs, firstMs << math.min(2 * math.max(failures, 0), 10))
}
