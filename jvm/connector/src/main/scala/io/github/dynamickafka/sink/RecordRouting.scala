package io.github.dynamickafka.sink

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader

import io.github.dynamickafka.config.DeadLetterOptions
import io.github.dynamickafka.kafka.TaskSender.Record

/**
 * Converts rows to Kafka records and routes them to clusters. A row that cannot be routed is a dead letter or an error.
 *
 * @param refused why no dead letters can be written to the chosen cluster
 */
private[sink] final class RecordRouting(
    router: Router,
    picker: PartitionPicker,
    deadLetters: Option[DeadLetterOptions],
    refused: Option[String] = None
) {

  /**
   * @param send sends a record to a cluster
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException UNROUTABLE_ROW
   */
  def send(row: OutputRow)(send: (String, Record) => Unit): Unit = router.route(row).foreach {
    case Right(to) => row.invalid.toLeft(()).flatMap(_ => picker.pick(row, to)) match {
        case Right(partition) => send(to.cluster, record(row, to.topic, partition, row.headers))
        case Left(reason) =>
          letter(
            row,
            Unroutable(router.stream(row), Some(to.cluster), Some(to.topic), reason, knownCluster = true),
            send
          )
      }
    case Left(unroutable) => letter(row, unroutable, send)
  }

  private def letter(row: OutputRow, why: Unroutable, send: (String, Record) => Unit): Unit =
    deadLetters.flatMap(d => why.ownCluster.orElse(d.cluster).map(_ -> d.topic)) match {
      case Some((cluster, _)) if why.ownCluster.isEmpty && refused.isDefined =>
        throw why.copy(reason =
          s"${why.reason}; 'deadLetterCluster' is '$cluster', but ${refused.mkString}"
        ).error
      case Some((cluster, topic)) =>
        send(cluster, record(row, topic, None, row.headers ++ RecordRouting.reasons(why)))
      case None => throw why.error
    }

  private def record(row: OutputRow, topic: String, partition: Option[Int], headers: Seq[Header]): Record =
    new ProducerRecord(
      topic,
      partition.map(Int.box).orNull,
      row.timestampMs,
      row.key,
      row.value,
      headers.asJava
    )
}

private[dynamickafka] object RecordRouting {

  /** The dead letter for a record that brokers of its cluster refuse; None if it is one already. Without its timestamp. */
  def letter(topic: String)(cluster: String, record: Record, reason: String): Option[(String, Record)] =
    Option.when(record.topic != topic) {
      val why = Unroutable(None, Some(cluster), Some(record.topic), reason, knownCluster = true)
      val headers = record.headers.asScala.toSeq ++ reasons(why)
      cluster -> new Record(topic, null, record.key, record.value, headers.asJava)
    }

  /** The additional headers of a dead letter. */
  private def reasons(why: Unroutable): Seq[Header] =
    Seq(
      "dynamic-kafka-reason" -> Some(why.reason),
      "dynamic-kafka-stream" -> why.stream,
      "dynamic-kafka-cluster" -> why.cluster,
      "dynamic-kafka-topic" -> why.topic
    ).collect { case (name, Some(text)) => new RecordHeader(name, text.getBytes(UTF_8)) }
}
