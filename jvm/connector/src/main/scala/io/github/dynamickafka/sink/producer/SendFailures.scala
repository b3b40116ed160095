package io.github.dynamickafka.sink.producer

import java.util.concurrent.atomic.AtomicReference

import org.apache.kafka.clients.producer.Callback
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.InterruptException

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{ProducerSettings, Redaction}

/**
 * The first record of a task that could not be written. Callbacks come on the producers' threads.
 *
 * @param told of it, where nobody asks
 */
private[sink] final class SendFailures(told: Throwable => Unit = _ => ()) {
  private val first = new AtomicReference[Throwable]

  /** One for all records of a cluster. */
  def callback(settings: ProducerSettings): Callback = (metadata, e) =>
    if (e != null) {
      val error = SendFailures.error(settings, metadata.topic, e)
      if (first.compareAndSet(null, error)) told(error)
    }

  def check(): Unit = {
    val failure = first.get
    if (failure != null) throw failure
  }
}

private[sink] object SendFailures {

  /** What the client throws here, as an error that tells where. */
  def guarded[A](settings: ProducerSettings, topic: String)(body: => A): A =
    try body
    catch {
      // A task that is killed, which Spark knows best.
      case e: InterruptException => throw e
      case e: KafkaException => throw error(settings, topic, e)
    }

  def error(settings: ProducerSettings, topic: String, e: Throwable): Throwable = {
    val cause = Redaction.scrub(e, settings.properties)
    Errors.writeFailed(
      settings.cluster,
      settings.bootstrapServers,
      s"topic $topic",
      s"${cause.getClass.getSimpleName}: ${cause.getMessage}",
      cause
    )
  }
}
