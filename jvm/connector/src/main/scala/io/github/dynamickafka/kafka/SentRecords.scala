package io.github.dynamickafka.kafka

import java.util.concurrent.atomic.AtomicLong

import org.apache.kafka.clients.producer.{Callback, RecordMetadata}
import org.apache.kafka.common.errors.{InterruptException, TimeoutException}

import io.github.dynamickafka.base.Clock
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
    settings.properties.get(DeliveryTimeout).flatMap(_.trim.toLongOption).getOrElse(KafkaDefaultMs) + GraceMs
}

private object SentRecords {
  private val DeliveryTimeout = "delivery.timeout.ms"
  private val KafkaDefaultMs = 120000L
  private val GraceMs = 30000L
}
