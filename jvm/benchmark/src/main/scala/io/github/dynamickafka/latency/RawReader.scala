package io.github.dynamickafka.latency

import java.time.Duration
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.WakeupException
import org.apache.kafka.common.serialization.{ByteArrayDeserializer, ByteArraySerializer}

/** Reads a topic of one cluster from its beginning, with a thread of its own and Kafka's defaults, until it is closed. */
private[latency] final class RawReader(
    bootstrap: String,
    topic: String,
    partitions: Int,
    each: Array[Byte] => Unit
) extends AutoCloseable {
  private val consumer =
    new KafkaConsumer(RawReader.settings(bootstrap), new ByteArrayDeserializer, new ByteArrayDeserializer)

  private val thread = new Thread(
    () =>
      try {
        val assigned = (0 until partitions).map(new TopicPartition(topic, _)).asJava
        consumer.assign(assigned)
        consumer.seekToBeginning(assigned)
        while (true) consumer.poll(Duration.ofSeconds(1)).forEach(r => each(r.value))
      } catch { case _: WakeupException => }
      finally consumer.close(),
    s"raw-$topic"
  )
  thread.start()

  override def close(): Unit = {
    consumer.wakeup()
    thread.join()
  }
}

private[latency] object RawReader {
  private def settings(bootstrap: String) = {
    val settings = new ju.HashMap[String, AnyRef]
    settings.put("bootstrap.servers", bootstrap)
    settings
  }

  /** Sends each value on at once. */
  final class Forward(bootstrap: String, topic: String) extends (Array[Byte] => Unit) with AutoCloseable {
    private val producer =
      new KafkaProducer(settings(bootstrap), new ByteArraySerializer, new ByteArraySerializer)

    override def apply(value: Array[Byte]): Unit = {
      val _ = producer.send(new ProducerRecord(topic, value))
    }
    override def close(): Unit = producer.close()
  }
}
