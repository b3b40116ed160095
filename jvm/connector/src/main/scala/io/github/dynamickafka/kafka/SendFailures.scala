package io.github.dynamickafka.kafka

import java.util.concurrent.atomic.AtomicReference

import org.apache.kafka.clients.producer.RecordMetadata
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.{InterruptException, TimeoutException}

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors

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
        s"${settings.properties.getOrElse("batch.size", "16384")} bytes, lower 'kafka.batch.size'"
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
