package io.github.dynamickafka.testkit

import java.nio.ByteBuffer
import java.util.concurrent.atomic.AtomicReference

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig, ProducerRecord}
import org.apache.kafka.common.serialization.ByteArraySerializer

/** Fills a topic as fast as one producer can. */
private[testkit] object BulkLoad {
  private val KeyBytes = java.lang.Long.BYTES
  private val DistinctValues = 1024

  /**
   * Record i has the key i (8 bytes, big endian), is written to partition i modulo `partitions`, and has random bytes
   * as its value, so that compression and caches have no effect.
   *
   * @param recordBytes the size of key and value together
   * @param times the times of the records, evenly from the first one to before the second one; None: now
   */
  def run(
      bootstrapServers: String,
      topic: String,
      partitions: Int,
      records: Long,
      recordBytes: Int,
      times: Option[(Long, Long)]
  ): Unit = {
    require(recordBytes >= KeyBytes, s"a record has at least $KeyBytes bytes, its key")
    val random = new Random(1)
    val values = Array.fill(DistinctValues)(random.nextBytes(recordBytes - KeyBytes))
    val failure = new AtomicReference[Exception]
    def time(i: Long) = times.map { case (first, end) =>
      Long.box(first + i * (end - first) / records)
    }.orNull
    Using.resource(producer(bootstrapServers)) { producer =>
      var i = 0L
      while (i < records && failure.get == null) {
        val key = ByteBuffer.allocate(KeyBytes).putLong(i).array
        val partition = Int.box((i % partitions).toInt)
        producer.send(
          new ProducerRecord(topic, partition, time(i), key, values((i % DistinctValues).toInt)),
          (_, e) => if (e != null) failure.compareAndSet(null, e): Unit
        )
        i += 1
      }
    }
    Option(failure.get).foreach(throw _)
  }

  private def producer(bootstrapServers: String) = new KafkaProducer(
    Map[String, AnyRef](
      ProducerConfig.BOOTSTRAP_SERVERS_CONFIG -> bootstrapServers,
      // With one broker, the leader is the only replica.
      ProducerConfig.ACKS_CONFIG -> "1",
      ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG -> "false",
      ProducerConfig.LINGER_MS_CONFIG -> "20",
      ProducerConfig.BATCH_SIZE_CONFIG -> (1 << 18).toString,
      ProducerConfig.BUFFER_MEMORY_CONFIG -> (1 << 26).toString
    ).asJava,
    new ByteArraySerializer,
    new ByteArraySerializer
  )
}
