package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.time.Duration
import java.util.concurrent.TimeoutException
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec}
import org.apache.kafka.clients.consumer.{Consumer, KafkaConsumer}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.errors.InterruptException
import org.apache.kafka.common.serialization.{StringDeserializer, StringSerializer}
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.kafka.{ClientDefaults, ClusterClients, Opening}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.TopicRecords

/**
 * Reads the streams from a compacted Kafka topic with one partition. The key of a record is a stream id. Its value is a document
 * in the JSON format of the metadata file, with exactly this stream and its clusters; null removes the stream. Where records
 * differ about a cluster, the newest one holds.
 *
 * Each call reads what was added to the topic. A new record is noticed at once, whatever the discovery interval is. Failures of a call
 * are `IOException`s and METADATA_INVALID. The topic has to have one partition and `cleanup.policy=compact`.
 */
private[dynamickafka] final class KafkaTopicMetadataService(arguments: ServiceArguments)
    extends DocumentMetadataService
    with Watched
    with EditableService {
  import KafkaTopicMetadataService._

  private val bootstrapServers = arguments(MetadataServiceSpecs.TopicServers)
  private val topic = arguments(MetadataServiceSpecs.Topic)
  private val timeoutMs = arguments(MetadataServiceSpecs.TimeoutMs)
  override protected val shown: String = s"the Kafka topic '$topic' at $bootstrapServers"
  private val chosen = arguments.underPrefix + ("bootstrap.servers" -> bootstrapServers)
  private val partition = new TopicPartition(topic, 0)
  private val partitions = ju.List.of(partition)
  private val admin = new Opened(ClusterClients.admin(ClientDefaults.admin(chosen, timeoutMs)), timeoutMs)
  private val reading = new Opened(Opening(new Reading)(_.close()), timeoutMs)

  override protected def read(): Map[String, KafkaStream] = {
    val now = records()
    now.streams ++ now.invalid.map { case (id, reason) => id -> KafkaStream.invalid(id, reason) }
  }

  override protected def await(working: () => Unit, changed: () => Unit): Unit = {
    val own = reader()
    try {
      own.seekToEnd(partitions)
      own.position(partition)
      working()
      changed()
      while (true) if (!own.poll(Wait).isEmpty) changed()
    } finally end(own)
  }

  /** The records of the streams that change are written; a record that somebody else writes at the same time may be replaced. */
  private[dynamickafka] override def edit(change: String => String)
      : (Map[String, KafkaStream], Map[String, KafkaStream]) = {
    val before = records()
    before.streams -> write(before, before.edited(change)).streams
  }

  /**
   * Writes the streams of a valid file, or some of them.
   *
   * @param removed streams of the topic that the file does not have
   * @return the ids of the streams that were written
   * @throws EditRefused if a stream is unknown, or could not be read any more
   */
  private[dynamickafka] def publish(file: String, only: Seq[String], removed: Seq[String]): Seq[String] = {
    val values = TopicRecords.published(file, only, removed)
    val _ = write(records(), values)
    values.collect { case (id, Some(_)) => id }.toSeq
  }

  private def write(before: TopicRecords, values: TopicRecords.Values): TopicRecords = {
    val after = before.after(values)
    if (values.nonEmpty)
      try
        Using.resource(new KafkaProducer(client(ClientDefaults.producer(chosen) ++ written), text, text)) {
          producer =>
            values.toSeq.map { case (id, value) =>
              producer.send(new ProducerRecord(topic, 0, id, value.orNull))
            }
              .foreach(Opening.answer(_, timeoutMs))
        }
      catch { case NonFatal(e) => throw failure("written", e) }
    after
  }

  private def written = Map("acks" -> "all", "enable.idempotence" -> "true", "linger.ms" -> "0") ++
    Seq("request.timeout.ms", "delivery.timeout.ms", "max.block.ms").map(_ -> timeoutMs.toString)

  override def close(): Unit = synchronized {
    admin.close()
    reading.close()
  }

  private def records(): TopicRecords = synchronized {
    val deadline = System.nanoTime() + timeoutMs * 1000000L
    def rest = math.max(1L, (deadline - System.nanoTime()) / 1000000L)
    try {
      val range = ask(admin(), () => rest)
      val before = reading()
      // Another topic of this name, or one that has lost its newest records, is read from its beginning.
      if (before.topicId.exists(_ != range.id) || before.position > range.end) reading.close()
      val now = reading()
      now.topicId = Some(range.id)
      while (now.position < range.end) {
        if (System.nanoTime() >= deadline)
          throw new TimeoutException(s"$shown was not read within $timeoutMs ms")
        now.consumer.poll(Duration.ofMillis(math.min(rest, 1000L))).records(partition).forEach { record =>
          if (record.key != null) now.records = now.records.add(record.key, record.value, record.offset)
        }
      }
      now.records = now.records.from(range.begin)
      now.records
    } catch {
      case e: DynamicKafkaIllegalArgumentException => throw e
      case NonFatal(e) =>
        // The next call resolves the references again.
        admin.renew()
        reading.renew()
        throw failure("read", e)
    }
  }

  private def failure(what: String, e: Throwable): IOException =
    new IOException(s"$shown cannot be $what", Redaction.scrub(e, chosen - "bootstrap.servers"))

  private def reader(): Reader = {
    val waiting = ClientDefaults.consumerFetch.toMap + ClientDefaults.realTimeWait
    val made = new KafkaConsumer(client(waiting ++ ClientDefaults.consumer(chosen) ++ Fixed), texts, texts)
    made.assign(partitions)
    made
  }

  private def client(properties: Map[String, String]) = new ju.HashMap[String, AnyRef](properties.asJava)

  private def ask(admin: Admin, rest: () => Long): Range = {
    def get[A](future: KafkaFuture[A]): A = Opening.answer(future, rest())
    val resource = new ConfigResource(ConfigResource.Type.TOPIC, topic)
    val description = admin.describeTopics(ju.List.of(topic)).allTopicNames
    val configuration = admin.describeConfigs(ju.List.of(resource)).all
    def offset(which: OffsetSpec) =
      admin.listOffsets(ju.Map.of(partition, which), Committed).partitionResult(partition)
    val (begin, end) = (offset(OffsetSpec.earliest()), offset(OffsetSpec.latest()))
    val found = get(description).get(topic)
    if (found.partitions.size != 1)
      throw Errors.metadataInvalid(shown, s"it has ${found.partitions.size} partitions instead of one")
    val policy = get(configuration).get(resource).get("cleanup.policy").value
    if (policy != "compact")
      throw Errors.metadataInvalid(shown, s"its cleanup.policy is '$policy' instead of 'compact'")
    Range(found.topicId, get(begin).offset, get(end).offset)
  }

  private def end(reader: Reader): Unit =
    try reader.close(Duration.ZERO)
    catch { case _: InterruptException => () }

  /** What was read, and the consumer that reads further. */
  private final class Reading extends AutoCloseable {
    val consumer: Reader = reader()
    consumer.seekToBeginning(partitions)

    var topicId: Option[Uuid] = None
    var records: TopicRecords = TopicRecords(shown)
    def position: Long = consumer.position(partition)

    override def close(): Unit = end(consumer)
  }
}

private object KafkaTopicMetadataService {
  private type Reader = Consumer[String, String]

  private val (text, texts) = (new StringSerializer, new StringDeserializer)
  private val Committed = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)
  private val Fixed = Map(
    "enable.auto.commit" -> "false",
    "auto.offset.reset" -> "earliest",
    "isolation.level" -> "read_committed",
    "allow.auto.create.topics" -> "false"
  )

  /** Records end the wait. */
  private val Wait = Duration.ofSeconds(60)

  /** The topic now: its records are from one offset to before another one. */
  private final case class Range(id: Uuid, begin: Long, end: Long)
}
