package io.github.dynamickafka.testkit

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.concurrent.{ExecutionException, Future}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{ConsumerConfig, ConsumerRecord, KafkaConsumer}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig, ProducerRecord, RecordMetadata}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.kafka.common.serialization.{StringDeserializer, StringSerializer}

/** Produces and reads the records of one cluster with Kafka's clients. */
private[testkit] final class Records(bootstrapServers: String) extends AutoCloseable {
  private val producer = new KafkaProducer(
    Map[String, AnyRef](
      ProducerConfig.BOOTSTRAP_SERVERS_CONFIG -> bootstrapServers,
      ProducerConfig.ACKS_CONFIG -> "all",
      ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG -> "10000",
      // Includes the failover of a leader.
      ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG -> AdminClients.CallMs.toString,
      ProducerConfig.MAX_BLOCK_MS_CONFIG -> AdminClients.CallMs.toString
    ).asJava,
    new StringSerializer,
    new StringSerializer
  )

  /** The partition and offset of each record, in the same order. */
  def produce(topic: String, records: Seq[Record]): Seq[(Int, Long)] = {
    val sent: Seq[Future[RecordMetadata]] = records.map { record =>
      val headers = record.headers.map { case (key, value) => header(key, value) }
      producer.send(
        new ProducerRecord(
          topic,
          Int.box(record.partition),
          record.timestamp.map(Long.box).orNull,
          record.key.orNull,
          record.value,
          headers.asJava
        )
      )
    }
    producer.flush()
    sent.map { future =>
      val metadata =
        try future.get()
        catch { case e: ExecutionException => throw e.getCause }
      metadata.partition -> metadata.offset
    }
  }

  /** All records from the earliest to the current latest offset, by partition and offset. */
  def dump(partitions: Seq[TopicPartition], isolation: String): Seq[StoredRecord] = {
    val consumer = new KafkaConsumer(
      Map[String, AnyRef](
        ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG -> bootstrapServers,
        ConsumerConfig.ISOLATION_LEVEL_CONFIG -> isolation,
        ConsumerConfig.AUTO_OFFSET_RESET_CONFIG -> "none",
        ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG -> "10000",
        ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG -> AdminClients.CallMs.toString,
        // A pending fetch without more records would delay close().
        ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG -> "20"
      ).asJava,
      new StringDeserializer,
      new StringDeserializer
    )
    try {
      consumer.assign(partitions.asJava)
      consumer.seekToBeginning(partitions.asJava)
      val ends = consumer.endOffsets(partitions.asJava).asScala.view.mapValues(_.longValue).toMap
      val found = mutable.Buffer.empty[StoredRecord]
      Poll.until(s"all records of ${partitions.mkString(", ")}") {
        found ++= consumer.poll(Duration.ofMillis(100)).asScala.map(stored)
        // The position also passes offsets without records, such as transaction markers and compacted records.
        ends.forall { case (partition, end) => consumer.position(partition) >= end }
      }
      found
        .filter(r => r.offset < ends(new TopicPartition(partitions.head.topic, r.partition)))
        .sortBy(r => (r.partition, r.offset))
        .toSeq
    } finally consumer.close()
  }

  override def close(): Unit = producer.close(Duration.ZERO)

  private def header(key: String, value: String): Header = new RecordHeader(key, value.getBytes(UTF_8))

  private def stored(record: ConsumerRecord[String, String]): StoredRecord =
    StoredRecord(
      record.partition,
      record.offset,
      Option(record.key),
      record.value,
      record.headers.asScala.map(h => h.key -> new String(h.value, UTF_8)).toMap,
      record.timestamp
    )
}
