package io.github.dynamickafka.sink.commit

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Clock, DaemonThreads}
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.kafka.{ProducerSettings, SendFailures, SentRecords, TaskSender}

/**
 * For `exactly-once`: one transaction per cluster that the task writes to, which stays open until the driver commits
 * it.
 *
 * @param killed whether Spark has killed the task, so that its message is dropped
 * @param writes whether this task's part of a cluster must be written; false if it is already committed
 */
private[sink] final class TransactionalSender(
    settings: String => ProducerSettings,
    pool: TransactionPool,
    attempt: TaskAttempt,
    writes: String => Boolean,
    killed: () => Boolean,
    clock: Clock
) extends TaskSender {
  import TransactionalSender._

  private val failures = new SendFailures
  private val open = mutable.LinkedHashMap.empty[String, Opened]
  private var prepared = Seq.empty[Prepared]
  private val withheld = mutable.HashMap.empty[String, Long]

  override def send(cluster: String, record: Record): Unit =
    if (!writes(cluster)) withheld.update(cluster, withheld.getOrElse(cluster, 0L) + 1)
    else {
      failures.check()
      val opened = open.getOrElseUpdate(cluster, begin(cluster))
      SendFailures.guarded(
        opened.settings,
        record.topic
      )(opened.sent.send(record)(opened.producer.send))
      opened.rows += 1
      opened.topics += record.topic
    }

  override def partitions(cluster: String, topic: String): Int = {
    val of = settings(cluster)
    SendFailures.guarded(of, topic)(
      open.get(cluster).fold(pool.use(of)(_.partitions(topic)))(_.producer.partitions(topic))
    )
  }

  override def partitionsNow(cluster: String, topic: String): Int = {
    val of = settings(cluster)
    SendFailures.guarded(of, topic)(pool.withNew(of)(_.partitions(topic)))
  }

  override def commit(): WriterCommitMessage = {
    open.values.foreach { opened =>
      SendFailures.guarded(opened.settings, opened.topics.mkString(", "))(
        opened.sent.awaitAnswers(() => opened.producer.flush())
      )
    }
    failures.check()
    val openMs = open.map { case (cluster, opened) =>
      cluster -> (clock.monotonicMs() - opened.beganMs)
    }.toMap
    val atMs = clock.currentTimeMillis()
    // All of them before the first producer is given back: abort() still needs each if one cannot be prepared.
    open.values.foreach(opened => opened.handle = Some(opened.producer.prepare()))
    prepared = for {
      (cluster, opened) <- open.toSeq
      handle <- opened.handle
    } yield {
      pool.release(opened.settings, opened.producer)
      Prepared(
        cluster,
        attempt.transactionalId(cluster),
        handle.producerId,
        handle.epoch,
        attempt.partition,
        opened.rows,
        opened.topics.toSeq.sorted
      )
    }
    open.clear()
    TaskTransactions(prepared, attempt.retried, attempt.partition, withheld.toMap, openMs, atMs)
  }

  /** Runs on another thread, because Spark may interrupt the thread of a task repeatedly, which aborts Kafka calls. */
  override def abort(): Unit = {
    val left = open.values.toSeq
    open.clear()
    if (left.nonEmpty) {
      val aborting = new DaemonThreads("dynamic-kafka-sink-abort").newThread(() => left.foreach(abort))
      aborting.start()
      // If this thread is interrupted, the other one continues.
      try aborting.join()
      catch { case _: InterruptedException => Thread.currentThread().interrupt() }
    }
  }

  private def abort(opened: Opened): Unit = {
    val id = attempt.transactionalId(opened.settings.cluster)
    try {
      opened.handle.fold(opened.producer.abort())(opened.producer.abort(id, _))
      pool.release(opened.settings, opened.producer)
    } catch {
      case NonFatal(e) =>
        pool.discard(opened.settings, opened.producer, e)
        notAborted(opened.settings.cluster, id, e)
    }
  }

  // The driver searches for open transactions; otherwise Kafka aborts it after its timeout.
  private def notAborted(cluster: String, id: String, e: Throwable): Unit =
    log.warn(s"Transaction '$id' on Kafka cluster '$cluster' could not be aborted: $e")

  override def close(): Unit = {
    abort()
    // Spark drops the message of a killed task.
    if (killed()) for (left <- prepared)
      try {
        val _ = pool.fence(settings(left.cluster), left.transactionalId)
      } catch { case NonFatal(e) => notAborted(left.cluster, left.transactionalId, e) }
  }

  private def begin(cluster: String): Opened = {
    val settings = this.settings(cluster)
    val id = attempt.transactionalId(cluster)
    SendFailures.guarded(settings, s"not known yet, transaction '$id'") {
      var beganMs = 0L
      val producer = pool.acquire(
        settings,
        producer => {
          beganMs = clock.monotonicMs()
          producer.begin(id)
        }
      )
      new Opened(settings, producer, new SentRecords(settings, failures, clock), beganMs)
    }
  }
}

private[sink] object TransactionalSender {
  private val log = LoggerFactory.getLogger(classOf[TransactionalSender])

  private final class Opened(
      val settings: ProducerSettings,
      val producer: ResumableProducer,
      val sent: SentRecords,
      val beganMs: Long
  ) {
    var rows = 0L

    /** Set when the producer is detached from its transaction. */
    var handle: Option[ResumableProducer.Handle] = None
    val topics: mutable.Set[String] = mutable.HashSet.empty
  }
}

/** @param retried whether there may have been an earlier attempt */
private[sink] final case class TaskAttempt(
    partition: Int,
    transactionalId: String => String,
    retried: Boolean
)
