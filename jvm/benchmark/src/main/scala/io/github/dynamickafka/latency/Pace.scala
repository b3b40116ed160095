package io.github.dynamickafka.latency

import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.locks.LockSupport
import java.{util => ju}

import scala.collection.mutable

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.serialization.ByteArraySerializer

/**
 * Sends records at an even pace to all partitions of all clusters in turn. A request has `bootstrap`, `topic`, `partitions`, `bytes`,
 * `seconds` and `rate`, which is that of all clusters together, a multiple of 1,000 per second. With a rate of 0, each partition gets
 * one record. The answer has the number of records, and how late the producer was at most.
 */
object Pace {
  private val TickNanos = 1000000L
  private val producers = mutable.Map.empty[String, KafkaProducer[Array[Byte], Array[Byte]]]

  def main(args: Array[String]): Unit = {
    Conversation.run(send)
    producers.values.foreach(_.close())
  }

  private def send(request: JsonNode): ObjectNode = {
    val to = Conversation.texts(request.get("bootstrap")).map(b => producers.getOrElseUpdate(b, producer(b)))
    val topic = request.get("topic").asText
    val (partitions, bytes) = (request.get("partitions").asInt, request.get("bytes").asInt)
    to.foreach(_.partitionsFor(topic))
    val failure = new AtomicReference[Exception]
    var sent = 0
    def one(): Unit = {
      val cluster = sent % to.size
      val record = new ProducerRecord(
        topic,
        Int.box(sent / to.size % partitions),
        f"$sent%08d".getBytes,
        SentRecord.of(SentRecord.now(), cluster, bytes)
      )
      val _ = to(cluster).send(record, (_, e) => if (e != null) failure.set(e))
      sent += 1
    }
    val rate = request.get("rate").asInt
    val late = if (rate == 0) {
      (1 to to.size * partitions).foreach(_ => one())
      0L
    } else atPace(rate / 1000, (request.get("seconds").asDouble * 1000).toInt, () => one())
    to.foreach(_.flush())
    Option(failure.get).foreach(throw _)
    Conversation.answer().put("sent", sent).put("late_max_ms", late / 1e6)
  }

  /** @return by how many nanoseconds a tick was late at most */
  private def atPace(perTick: Int, ticks: Int, one: () => Unit): Long = {
    val start = System.nanoTime()
    (0 until ticks).map { tick =>
      val due = start + tick * TickNanos
      var left = due - System.nanoTime()
      while (left > 0) {
        LockSupport.parkNanos(left)
        left = due - System.nanoTime()
      }
      (0 until perTick).foreach(_ => one())
      -left
    }.max
  }

  /** Sent at once and acknowledged by the leader: the way to the reader is measured. */
  private def producer(bootstrap: String): KafkaProducer[Array[Byte], Array[Byte]] = {
    val settings = new ju.HashMap[String, AnyRef]
    settings.put("bootstrap.servers", bootstrap)
    settings.put("linger.ms", "0")
    settings.put("acks", "all")
    new KafkaProducer(settings, new ByteArraySerializer, new ByteArraySerializer)
  }
}
