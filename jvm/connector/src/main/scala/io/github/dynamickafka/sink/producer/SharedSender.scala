package io.github.dynamickafka.sink.producer

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.kafka.clients.producer.Callback
import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.sink.route.RecordRouting.Record

/**
 * For `none` and `at-least-once`: uses producers that all tasks of an executor share.
 *
 * @param waits whether a task waits until all its records are acknowledged
 */
private[dynamickafka] final class SharedSender(
    settings: String => ProducerSettings,
    producers: SharedProducers,
    waits: Boolean
) extends TaskSender {
  private val failures =
    new SendFailures(e =>
      if (!waits)
        SharedSender.log.warn(s"A record was not written and is lost ('deliveryGuarantee' is 'none'): $e")
    )
  private val open = mutable.HashMap.empty[String, SharedSender.Lane]

  override def send(cluster: String, record: Record): Unit = {
    if (waits) failures.check()
    val lane = this.lane(cluster, record.topic)
    onLease(lane.lease, record.topic) {
      val _ = lane.lease.producer.send(record, lane.callback)
    }
  }

  override def partitions(cluster: String, topic: String): Int = {
    val lease = lane(cluster, topic).lease
    onLease(lease, topic)(lease.producer.partitionsFor(topic).size)
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
      open.values.foreach(_.lease.producer.flush())
      failures.check()
    }
    SharedSender.Done
  }

  /** Does nothing: records that were sent stay, as at-least-once allows. */
  override def abort(): Unit = ()

  override def close(): Unit = {
    open.values.foreach(lane => producers.release(lane.lease))
    open.clear()
  }

  private def lane(cluster: String, topic: String) = open.getOrElseUpdate(
    cluster, {
      val wanted = settings(cluster)
      val lease = SendFailures.guarded(wanted, topic)(producers.acquire(wanted))
      val noted = failures.callback(wanted)
      new SharedSender.Lane(
        lease,
        (metadata, e) => {
          if (e != null) dropIfFatal(lease, e)
          noted.onCompletion(metadata, e)
        }
      )
    }
  )
}

private[sink] object SharedSender {
  private val log = LoggerFactory.getLogger(classOf[SharedSender])

  private final class Lane(val lease: SharedProducers.Lease, val callback: Callback)

  case object Done extends WriterCommitMessage
}
