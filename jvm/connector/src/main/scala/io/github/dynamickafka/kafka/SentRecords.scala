package io.github.dynamickafka.kafka

import java.util.concurrent.atomic.{AtomicLong, AtomicReference}

import org.apache.kafka.clients.producer.{Callback, RecordMetadata}
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.{InterruptException, TimeoutException}
import org.apache.kafka.common.header.Headers
import org.apache.kafka.common.utils.Utils

import io.github.dynamickafka.base.{Clock, Redaction}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.TaskSender.Record

/**
 * The records that a task sends with one producer. The task is done when each of them is answered, not when `flush` of the producer
 * returns: in Kafka clients 3.9.0, 3.9.1, and 4.0.0 to 4.1.0 it does not wait for the parts of a batch that was split because
 * brokers refused it as too large (KAFKA-19479).
 *
 * Used by the thread of the task; only [[onCompletion]] runs on threads of the producer.
 *
 * @param onError called with each failure of a record
 */
private[dynamickafka] final class SentRecords(
    settings: ProducerSettings,
    failures: SendFailures,
    clock: Clock,
    onError: Exception => Unit = _ => ()
) extends Callback {
  import SentRecords._

  private val answered = new AtomicLong
  private var sent = 0L

  override def onCompletion(metadata: RecordMetadata, e: Exception): Unit =
    try if (e != null) {
        onError(e)
        failures.add(settings, metadata, e)
      }
    finally { val _ = answered.incrementAndGet() }

  /** @param by the method of the producer, which calls the callback once, or throws */
  def send(record: Record)(by: (Record, Callback) => Unit): Unit = {
    by(record, this)
    sent += 1
  }

  /**
   * Returns when each record is answered, or one has failed. Waits for the answer to a record as long as the producer may try to
   * write it.
   *
   * @param flush of the producer, which waits for all batches that it knows when it is called, parts of batches included
   */
  def awaitAnswers(flush: () => Unit): Unit = {
    var (known, sinceMs) = (answered.get, clock.monotonicMs())
    flush()
    while (answered.get < sent && !failures.exist) {
      if (Thread.interrupted()) throw new InterruptException("interrupted while records are being written")
      // A batch is done shortly before its parts are known.
      clock.pauseMs(1L)
      flush()
      val now = answered.get
      if (now > known) {
        known = now
        sinceMs = clock.monotonicMs()
      } else if (clock.monotonicMs() - sinceMs > longestMs)
        throw new TimeoutException(s"${sent - now} of $sent records were not answered within $longestMs ms")
    }
  }

  private def longestMs: Long =
    settings.number(DeliveryTimeout).getOrElse(KafkaDefaultMs) + GraceMs
}

private[dynamickafka] object SentRecords {

  /** The bytes of key, value and headers. */
  def size(key: Array[Byte], value: Array[Byte], headers: Headers): Long = {
    var bytes = length(key) + length(value)
    val all = headers.iterator
    while (all.hasNext) {
      val header = all.next()
      bytes += Utils.utf8Length(header.key).toLong + length(header.value)
    }
    bytes
  }

  private def length(bytes: Array[Byte]): Long = if (bytes == null) 0L else bytes.length.toLong

  private val DeliveryTimeout = "delivery.timeout.ms"
  private val KafkaDefaultMs = 120000L
  private val GraceMs = 30000L
}

/**
 * The first failure of a task to write a record. Callbacks run on the threads of the producers.
 *
 * @param onFirst called with the first failure, for tasks that do not call [[check]]
 */
private[dynamickafka] final class SendFailures(onFirst: Throwable => Unit = _ => ()) {
  private val first = new AtomicReference[SendFailures.Failure]

  def add(settings: ProducerSettings, metadata: RecordMetadata, e: Exception): Unit = {
    // Recorded as it is: the producer catches what a callback throws, so that a failure to describe it would lose it.
    val failure = new SendFailures.Failure(settings, metadata, e)
    if (first.compareAndSet(null, failure)) onFirst(failure.error)
  }

  def exist: Boolean = first.get != null

  def check(): Unit = {
    val failure = first.get
    if (failure != null) throw failure.error
  }
}

private[dynamickafka] object SendFailures {

  private final class Failure(settings: ProducerSettings, metadata: RecordMetadata, e: Exception) {
    lazy val error: Throwable =
      SendFailures.error(settings, Option(metadata).fold("not known")(_.topic), e)
  }

  /** Converts an exception of the client to an error with cluster and topic. */
  def guarded[A](settings: ProducerSettings, topic: String)(body: => A): A =
    try body
    catch {
      // The task was killed: Spark handles the exception.
      case e: InterruptException => throw e
      case e: KafkaException => throw error(settings, topic, e)
    }

  /** Kafka's client does not say why records have expired: brokers may refuse its batches as too large again and again. */
  private def hint(e: Throwable, settings: ProducerSettings): String = e match {
    case _: TimeoutException if String.valueOf(e.getMessage).startsWith("Expiring ") =>
      ". The broker that leads the partition has not answered in time ('delivery.timeout.ms'): check whether it is frozen or " +
        "unreachable. If other records reach it, and 'max.message.bytes' of the topic is lower than 'batch.size' of the producer, " +
        s"${settings.value("batch.size").mkString} bytes, lower 'kafka.batch.size'"
    case _ => ""
  }

  def error(settings: ProducerSettings, topic: String, e: Throwable): Throwable = {
    val cause = Redaction.scrub(e, settings.properties)
    Errors.writeFailed(
      settings.cluster,
      settings.bootstrapServers,
      s"topic $topic",
      s"${cause.getClass.getSimpleName}: ${cause.getMessage}${hint(e, settings)}",
      cause
    )
  }
}
