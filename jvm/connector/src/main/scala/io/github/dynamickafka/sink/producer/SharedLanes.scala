package io.github.dynamickafka.sink.producer

import scala.collection.mutable

import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.slf4j.LoggerFactory

import io.github.dynamickafka.sink.route.RecordRouting.Record

/**
 * For `none` and `at-least-once`: producers that all tasks of an executor share.
 *
 * @param waits whether a task is done only when all its records are acknowledged
 */
private[sink] final class SharedLanes(
    settings: String => ProducerSettings,
    producers: SharedProducers,
    waits: Boolean
) extends Lanes {
  private val failures =
    new SendFailures(e =>
      if (!waits) SharedLanes.log.warn(s"A record is lost ('deliveryGuarantee' is 'none'): $e")
    )
  private val open = mutable.HashMap.empty[String, SharedProducers.Lease]

  override def send(cluster: String, record: Record): Unit = {
    if (waits) failures.check()
    val lease = this.lease(cluster, record.topic)
    SendFailures.guarded(lease.settings, record.topic) {
      val _ = lease.producer.send(record, failures.callback(lease.settings, record))
    }
  }

  override def partitions(cluster: String, topic: String): Int = {
    val lease = this.lease(cluster, topic)
    SendFailures.guarded(lease.settings, topic)(lease.producer.partitionsFor(topic).size)
  }

  override def commit(): WriterCommitMessage = {
    if (waits) {
      open.values.foreach(_.producer.flush())
      failures.check()
    }
    SharedLanes.Done
  }

  /** What is sent is sent: at least once. */
  override def abort(): Unit = ()

  override def close(): Unit = {
    open.values.foreach(producers.release)
    open.clear()
  }

  private def lease(cluster: String, topic: String) = open.getOrElseUpdate(
    cluster, {
      val wanted = settings(cluster)
      SendFailures.guarded(wanted, topic)(producers.acquire(wanted))
    }
  )
}

private[sink] object SharedLanes {
  private val log = LoggerFactory.getLogger(classOf[SharedLanes])

  case object Done extends WriterCommitMessage
}
