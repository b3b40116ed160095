package io.github.dynamickafka.source.replacement

import java.time.Duration
import java.util.concurrent.TimeoutException
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{Consumer, ConsumerConfig, KafkaConsumer}
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.replacement.LastRecord
import io.github.dynamickafka.offset.replacement.SameOffsets.{Answer, Question}
import io.github.dynamickafka.source.cluster.ClusterConfig

/** Reads the offsets and times of single records of a cluster. Blocks. */
private[source] trait RecordsAt {
  def apply(config: ClusterConfig, questions: Map[(String, Int), Question]): Map[(String, Int), Answer]
}

private[source] object RecordsAt {

  /** With a consumer that is closed afterwards, within the request timeout of the cluster. */
  object Consumer extends RecordsAt {
    override def apply(
        config: ClusterConfig,
        questions: Map[(String, Int), Question]
    ): Map[(String, Int), Answer] = {
      val properties = new ju.HashMap[String, AnyRef](config.consumer.withToken.forConsumer)
      // A batch is returned whatever its size, and no more is needed.
      properties.put(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, "1024")
      val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](properties)
      try new Reading(consumer, config.requestTimeoutMs)(questions)
      finally consumer.close(Duration.ZERO)
    }
  }

  private final class Reading(consumer: Consumer[Array[Byte], Array[Byte]], limitMs: Long) {
    private val until = System.nanoTime() + limitMs * 1000000L

    def apply(questions: Map[(String, Int), Question]): Map[(String, Int), Answer] = {
      val at = first(questions.map { case (key, question) => key -> question.record })
      val there = at.filter { case (key, record) => record.offset == questions(key).record }
      // What follows the last record that was read, up to the position, is none of the former log, or was removed there.
      val (beyond, between) =
        (at -- there.keySet).partition { case (key, record) => record.offset >= questions(key).position }
      val next = beyond ++ first(between.map { case (key, _) => key -> questions(key).position })
      questions.map { case (key, _) => key -> Answer(there.get(key), next.get(key)) }
    }

    /** The first record of each partition from this offset on, if there is one. */
    private def first(from: Map[(String, Int), Long]): Map[(String, Int), LastRecord] = {
      val asked = from.map { case ((topic, p), offset) => new TopicPartition(topic, p) -> offset }
      consumer.assign(asked.keys.toSeq.asJava)
      val beginnings = consumer.beginningOffsets(asked.keys.toSeq.asJava).asScala
      asked.foreach { case (tp, offset) => consumer.seek(tp, math.max(offset, beginnings(tp).longValue)) }
      val ends = consumer.endOffsets(asked.keys.toSeq.asJava).asScala
      var found = Map.empty[TopicPartition, LastRecord]
      var open = asked.keySet.toSet
      while (open.nonEmpty) {
        if (System.nanoTime() > until)
          throw new TimeoutException(s"no records of ${open.toSeq.map(_.toString).sorted.mkString(", ")}")
        val polled = consumer.poll(Wait)
        for (tp <- open; record <- polled.records(tp).asScala.headOption)
          found += tp -> LastRecord(record.offset, record.timestamp)
        val done = open.filter(tp => found.contains(tp) || consumer.position(tp) >= ends(tp).longValue)
        consumer.pause(done.toSeq.asJava)
        open --= done
      }
      found.map { case (tp, record) => (tp.topic, tp.partition) -> record }
    }
  }

  private val Wait = Duration.ofMillis(100)
}
