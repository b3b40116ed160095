package io.github.dynamickafka.source.read

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.spark.TaskContext

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.{Errors, RecordPlace}
import io.github.dynamickafka.format.table.FormatOptionSpecs
import io.github.dynamickafka.kafka.{ProducerSettings, SharedProducers, SharedSender}

/**
 * Where bad records are written. Sent to executors.
 *
 * @param cluster None: the cluster of the record
 * @param producers by cluster
 * @param refused why none can be written to the chosen cluster; not a reason to end a query that may have none
 */
private[source] final case class DeadLetterTargets(
    topic: String,
    cluster: Option[String],
    producers: Map[String, ProducerSettings],
    refused: Option[String] = None
)

/**
 * Writes the bad records of one task to the dead letter topic. Used by the thread of the task, which ends only when they are
 * stored.
 */
private[source] final class DeadLetters(targets: DeadLetterTargets) {
  private var sender: Option[SharedSender] = None

  def send(record: ConsumerRecord[Array[Byte], Array[Byte]], place: RecordPlace, reason: String): Unit = {
    for (why <- targets.refused; id <- targets.cluster)
      throw Errors.invalidOption(
        FormatOptionSpecs.DeadLetterCluster.name,
        id,
        s"$why. A record of cluster '${place.cluster}', topic '${place.topic}', partition ${place.partition}, offset " +
          s"${place.offset} is a dead letter: $reason."
      )
    val headers = new RecordHeaders(record.headers)
    Seq(
      "reason" -> reason,
      "stream" -> place.stream,
      "cluster" -> place.cluster,
      "topic" -> place.topic,
      "partition" -> place.partition.toString,
      "offset" -> place.offset.toString
    ).foreach { case (name, text) => headers.add(s"dynamic-kafka-$name", text.getBytes(UTF_8)) }
    // A record of the oldest formats has no timestamp.
    val timestamp = Option.when(record.timestamp >= 0)(Long.box(record.timestamp)).orNull
    val letter = new ProducerRecord(targets.topic, null, timestamp, record.key, record.value, headers)
    sender.getOrElse(begin()).send(targets.cluster.getOrElse(place.cluster), letter)
  }

  /** Waits until all of them are stored. Throws an exception if one of them is not. */
  def finish(): Unit = sender.foreach { s =>
    val _ = s.commit()
  }

  private def begin(): SharedSender = {
    val made = new SharedSender(targets.producers, SharedProducers.shared, waits = true, Clock.System)
    sender = Some(made)
    // Spark may stop reading before the end of a batch: its offsets count as read all the same.
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit] { task =>
      try if (!task.isFailed() && !task.isInterrupted()) finish()
      finally {
        sender = None
        made.close()
      }
    })
    made
  }
}
