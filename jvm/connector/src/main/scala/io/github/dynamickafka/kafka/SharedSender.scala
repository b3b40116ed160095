package io.github.dynamickafka.kafka

import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.kafka.clients.producer.{Callback, ProducerRecord}
import org.apache.kafka.common.errors.{InvalidTimestampException, RecordTooLargeException}
import org.apache.kafka.common.{InvalidRecordException, KafkaException}
import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.TaskSender.Record

/**
 * For `none` and `at-least-once`: uses producers that all tasks of an executor share.
 *
 * @param waits whether a task waits until all its records are acknowledged
 * @param letter the dead letter for a record of a cluster that brokers refuse, given the reason; None: there are no dead letters
 */
private[dynamickafka] final class SharedSender(
    settings: String => ProducerSettings,
    producers: SharedProducers,
    waits: Boolean,
    clock: Clock,
    letter: Option[(String, Record, String) => Option[(String, Record)]] = None
) extends TaskSender {
  private val failures =
    new SendFailures(e =>
      if (!waits)
        SharedSender.log.warn(s"A record was not written and is lost ('deliveryGuarantee' is 'none'): $e")
    )
  private val refused = letter.map(new RefusedRecords(_))
  private val open = mutable.HashMap.empty[String, SharedSender.Used]

  override def send(cluster: String, record: Record): Unit = {
    if (waits) {
      failures.check()
      // Kept in memory no longer than necessary.
      refused.filterNot(_.isEmpty).foreach(_.replace(sendNow))
    }
    sendNow(cluster, record)
  }

  private def sendNow(cluster: String, record: Record): Unit = {
    val used = this.used(cluster, record.topic)
    onLease(used.lease, record.topic)(used.sent.send(record) { (record, answer) =>
      val callback = refused.fold(answer)(_.callback(cluster, record, answer))
      val _ = used.lease.producer.send(record, callback)
    })
  }

  override def partitions(cluster: String, topic: String): Int = {
    val lease = used(cluster, topic).lease
    onLease(lease, topic)(lease.producer.partitionsFor(topic).size)
  }

  override def partitionsNow(cluster: String, topic: String): Int = {
    val wanted = settings(cluster)
    SendFailures.guarded(wanted, topic)(producers.withNew(wanted)(_.partitionsFor(topic).size))
  }

  private def onLease[A](lease: SharedProducers.Lease, topic: String)(body: => A): A =
    SendFailures.guarded(lease.settings, topic) {
      try body
      catch {
        case NonFatal(e) =>
          dropIfFatal(lease, e)
          throw e
      }
    }

  private def dropIfFatal(lease: SharedProducers.Lease, e: Throwable): Unit =
    if (SharedProducers.isFatal(e)) producers.retire(lease)

  override def commit(): WriterCommitMessage = {
    if (waits) {
      awaitAnswers()
      while (refused.exists(!_.isEmpty)) {
        refused.foreach(_.replace(sendNow))
        awaitAnswers()
      }
    }
    SharedSender.Done
  }

  private def awaitAnswers(): Unit = {
    open.values.foreach { used =>
      onLease(used.lease, "of records that are not answered")(
        used.sent.awaitAnswers(() => used.lease.producer.flush())
      )
    }
    failures.check()
  }

  /** Does nothing: records that were sent stay, as at-least-once allows. */
  override def abort(): Unit = ()

  override def close(): Unit = {
    open.values.foreach(used => producers.release(used.lease))
    open.clear()
  }

  private def used(cluster: String, topic: String) = open.getOrElseUpdate(
    cluster, {
      val wanted = settings(cluster)
      val lease = SendFailures.guarded(wanted, topic)(producers.acquire(wanted))
      new SharedSender.Used(lease, new SentRecords(wanted, failures, clock, dropIfFatal(lease, _)))
    }
  )
}

private[dynamickafka] object SharedSender {
  private val log = LoggerFactory.getLogger(classOf[SharedSender])

  /** A producer with what the task has sent with it. */
  private final class Used(val lease: SharedProducers.Lease, val sent: SentRecords)

  case object Done extends WriterCommitMessage
}

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

/** Sends the records of one task to the clusters, with a delivery guarantee. Used by one thread. */
private[dynamickafka] trait TaskSender {

  /** May block until the producer has free buffer space. Throws the error of an earlier record of the task. */
  def send(cluster: String, record: Record): Unit

  /** The number of partitions of the topic, as known for up to `metadata.max.age.ms`. May send a request to the cluster. */
  def partitions(cluster: String, topic: String): Int

  /** The number of partitions of the topic now, with a request to the cluster. */
  def partitionsNow(cluster: String, topic: String): Int

  def commit(): WriterCommitMessage

  /** Called after [[commit]] has failed or instead of it. Does not throw. */
  def abort(): Unit

  def close(): Unit
}

private[dynamickafka] object TaskSender {
  type Record = ProducerRecord[Array[Byte], Array[Byte]]
}
