package io.github.dynamickafka.kafka.producer

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.kafka.producer.TaskSender.Record
import io.github.dynamickafka.time.Clock

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
