package io.github.dynamickafka.sink

import java.lang.{Long => JLong}
import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.kafka.common.utils.Utils

import io.github.dynamickafka.config.{DeadLetterOptions, PartitionerChoice}
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
  def letter(topic: String, streamOf: (String, String) => Option[String])(
      cluster: String,
      record: Record,
      reason: String
  ): Option[(String, Record)] =
    Option.when(record.topic != topic) {
      val stream = streamOf(cluster, record.topic)
      val why = Unroutable(stream, Some(cluster), Some(record.topic), reason, knownCluster = true)
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

/**
 * The columns of a row before routing. A null value is None, or null if Kafka accepts null.
 *
 * @param timestampMs in epoch milliseconds; null: the producer sets the timestamp
 * @param invalid the reason why Kafka does not accept the row; the columns concerned are left out
 */
private[sink] final case class OutputRow(
    key: Array[Byte],
    value: Array[Byte],
    headers: Seq[Header],
    timestampMs: JLong,
    partition: Option[Int],
    topic: Option[String],
    stream: Option[String],
    cluster: Option[String],
    invalid: Option[String]
)

/**
 * Chooses the partitions of one task's records. Not thread-safe.
 *
 * @param count returns the number of partitions of a (cluster, topic), which may be outdated
 * @param countNow the same, with a request to the cluster
 * @param task the number of the task in its batch
 */
private[sink] final class PartitionPicker(
    choice: PartitionerChoice,
    count: (String, String) => Int,
    countNow: (String, String) => Int,
    task: Int
) {
  private val counts = mutable.HashMap.empty[(String, String), Int]
  private val requested = mutable.HashSet.empty[(String, String)]
  private val turns = mutable.HashMap.empty[(String, String), Int]

  /** Right(None): the partitioner of the producer chooses. Left: the partition of the row is invalid. */
  def pick(row: OutputRow, to: Destination): Either[String, Option[Int]] = row.partition match {
    case Some(own) => check(own, to).map(Some(_))
    case None => Right(chosen(row, to))
  }

  private def chosen(row: OutputRow, to: Destination): Option[Int] = choice match {
    case PartitionerChoice.Fixed => Some(nth(to, task))
    case PartitionerChoice.RoundRobin =>
      val place = (to.cluster, to.topic)
      val turn = turns.getOrElse(place, task)
      turns.update(place, turn + 1)
      Some(nth(to, turn))
    // The hash of Kafka's default partitioner, limited to the partitions that belong to the stream.
    case PartitionerChoice.Default if to.partitions.isDefined =>
      Some(nth(to, if (row.key == null) task else Utils.toPositive(Utils.murmur2(row.key))))
    case _ => None
  }

  private def nth(to: Destination, n: Int): Int = to.partitions match {
    case Some(some) => some(math.floorMod(n, some.size))
    case None => math.floorMod(n, known(to))
  }

  private def check(partition: Int, to: Destination): Either[String, Int] =
    if (to.partitions.exists(!_.contains(partition)))
      Left(
        s"partition $partition does not belong to the stream, which has partitions " +
          s"${to.partitions.toSeq.flatten.mkString(", ")} on this cluster"
      )
    else if (partition < 0 || partition >= atLeast(partition, to))
      Left(s"partition $partition does not exist: the topic has ${known(to)} partitions")
    else Right(partition)

  /**
   * Requests the number again before a partition counts as missing, because partitions may have been added. Once, because the rows of a
   * task are older than the answer.
   */
  private def atLeast(partition: Int, to: Destination): Int = {
    if (known(to) <= partition && requested.add((to.cluster, to.topic)))
      counts.update((to.cluster, to.topic), countNow(to.cluster, to.topic))
    known(to)
  }

  private def known(to: Destination): Int =
    counts.getOrElseUpdate((to.cluster, to.topic), count(to.cluster, to.topic))
}
