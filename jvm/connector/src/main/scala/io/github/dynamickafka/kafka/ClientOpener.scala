package io.github.dynamickafka.kafka

import java.util.concurrent.{CompletableFuture, ExecutionException, Future, TimeUnit}

import org.apache.kafka.common.errors.TimeoutException

import io.github.dynamickafka.base.DaemonThreads

/**
 * Opens clients, each on a thread of its own: it resolves addresses, reads key stores and may log in, which can take any time.
 * Who opens a client must not hold a lock that others need, and must not wait without a time limit.
 */
private[dynamickafka] object ClientOpener {
  private val threads = new DaemonThreads("dynamic-kafka-open")

  /** Does not wait. */
  def open[A](client: => A): CompletableFuture[A] =
    CompletableFuture.supplyAsync[A](() => client, threads)

  /** What a client answers, or the exception with which it does. */
  def answer[A](future: Future[A], limitMs: Long): A =
    try future.get(limitMs, TimeUnit.MILLISECONDS)
    catch { case e: ExecutionException if e.getCause != null => throw e.getCause }

  /** The client, or why it could not be opened. */
  def await[A](opening: CompletableFuture[A], limitMs: Long): A =
    try answer(opening, limitMs)
    catch {
      case _: java.util.concurrent.TimeoutException =>
        throw new TimeoutException(
          s"the client was not open within $limitMs ms: a log-in, or a class in its properties, does not end"
        )
    }
}
