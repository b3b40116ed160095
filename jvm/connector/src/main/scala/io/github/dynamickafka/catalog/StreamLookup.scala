package io.github.dynamickafka.catalog

import java.util.concurrent.{CompletableFuture, ExecutionException, TimeUnit, TimeoutException}
import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/**
 * Asks the metadata service for streams, once for each call, and never two calls at a time, as the SPI guarantees.
 * Thread-safe.
 *
 * @param name the name of the service, for errors
 * @param timeoutMs how long a call may take, in milliseconds
 */
private[dynamickafka] final class StreamLookup(service: KafkaMetadataService, name: String, timeoutMs: Long) {
  private var last: Option[CompletableFuture[_]] = None

  /** @throws DynamicKafkaRuntimeException `METADATA_UNAVAILABLE` */
  def all(): Seq[KafkaStream] =
    answer("getAllStreams")(service.getAllStreams()).asScala.toSeq.sortBy(_.streamId)

  /** @return None if the service does not have the stream */
  def stream(id: String): Option[KafkaStream] = {
    val streams = answer("describeStreams")(service.describeStreams(ju.List.of(id)))
    Option(streams.get(id)).map { found =>
      if (found.streamId != id)
        throw Errors.metadataInvalid(
          s"stream '$id'",
          s"the answer contains stream '${found.streamId}' under this id"
        )
      found
    }
  }

  /** Whether a call that is no longer waited for has not returned yet. */
  private[catalog] def isBusy: Boolean = synchronized(last.exists(!_.isDone))

  private def answer[A <: AnyRef](method: String)(call: => A): A = synchronized {
    if (isBusy)
      throw unavailable("an earlier call has not returned", null)
    val result = new CompletableFuture[A]
    // Before the wait, which an interrupt may end as well.
    last = Some(result)
    // A thread of its own, because the call may never return.
    val thread = new Thread(() => complete(result, call), s"dynamic-kafka-catalog-$name")
    thread.setDaemon(true)
    thread.start()
    val found =
      try result.get(timeoutMs, TimeUnit.MILLISECONDS)
      catch {
        case e: ExecutionException => throw unavailable(FailureText.of(e.getCause), e.getCause)
        case e: TimeoutException =>
          thread.interrupt()
          throw unavailable(s"no response within $timeoutMs ms", e)
      }
    if (found == null) throw Errors.metadataInvalid(s"the return value of $method", "it is null")
    found
  }

  private def complete[A](result: CompletableFuture[A], call: => A): Unit =
    try { val _ = result.complete(call) }
    catch { case e: Throwable => val _ = result.completeExceptionally(e) }

  private def unavailable(reason: String, cause: Throwable) =
    Errors.metadataUnavailable(name, failures = 1, reason, cause)
}
