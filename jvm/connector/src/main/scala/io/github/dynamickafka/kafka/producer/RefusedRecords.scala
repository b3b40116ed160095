package io.github.dynamickafka.kafka.producer

import java.util.concurrent.ConcurrentLinkedQueue

import org.apache.kafka.clients.producer.Callback
import org.apache.kafka.common.InvalidRecordException
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.{InvalidTimestampException, RecordTooLargeException}

import io.github.dynamickafka.kafka.producer.TaskSender.Record

/**
 * The records of a task that brokers refuse, for what they are. They are replaced by dead letters. A broker refuses a whole batch for
 * one of them; the other records of the batch are sent again.
 *
 * @param letter the dead letter for a record of a cluster, given the reason; None: there is none
 */
private[dynamickafka] final class RefusedRecords(letter: (
    String,
    Record,
    String
) => Option[(String, Record)]) {
  import RefusedRecords._

  private val refused = new ConcurrentLinkedQueue[Refused]

  /** A callback that keeps the record until it is answered. */
  def callback(cluster: String, record: Record, answer: Callback): Callback = (metadata, e) =>
    if (e != null && (isRefused(e) || isInnocent(e)) && letter(cluster, record, "").isDefined) {
      // The counter last, so that it is in the queue when all records are answered.
      val _ = refused.add(Refused(cluster, record, e))
      answer.onCompletion(metadata, null)
    } else answer.onCompletion(metadata, e)

  def isEmpty: Boolean = refused.isEmpty

  /** Sends what has to be sent in place of the records that are refused so far. */
  def replace(send: (String, Record) => Unit): Unit = {
    var next = refused.poll()
    while (next != null) {
      val Refused(cluster, record, e) = next
      if (isInnocent(e)) send(cluster, record)
      else letter(cluster, record, s"Kafka does not accept the record: ${e.getMessage}").foreach(send.tupled)
      next = refused.poll()
    }
  }
}

private[dynamickafka] object RefusedRecords {
  private final case class Refused(cluster: String, record: Record, error: Exception)

  private def isRefused(e: Exception): Boolean = e match {
    case _: InvalidTimestampException | _: InvalidRecordException | _: RecordTooLargeException => true
    case _ => false
  }

  /** What Kafka's client reports for the other records of the batch; it has no class of its own. */
  private def isInnocent(e: Exception): Boolean =
    e.getClass == classOf[KafkaException] && e.getMessage != null && e.getMessage.contains(
      "part of a batch which had"
    )
}
