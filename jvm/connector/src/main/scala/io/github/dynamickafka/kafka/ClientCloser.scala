package io.github.dynamickafka.kafka

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

/**
 * Closes clients that are replaced, on threads of their own. Kafka's client waits for its thread, which reports to all pending
 * requests that it is closed; and who replaces a client may be the thread of all time limits of this JVM
 * (`CompletableFuture.orTimeout`), or holds a lock that the users of these requests need.
 */
private[dynamickafka] object ClientCloser {
  private val log = LoggerFactory.getLogger(ClientCloser.getClass)

  /** Does not wait. */
  def close(client: AutoCloseable): Unit = {
    val thread = new Thread(
      () =>
        try client.close()
        catch { case NonFatal(e) => log.warn("Failed to close a client that was replaced", e) },
      "dynamic-kafka-close"
    )
    thread.setDaemon(true)
    thread.start()
  }
}
