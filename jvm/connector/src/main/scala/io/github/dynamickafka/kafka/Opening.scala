package io.github.dynamickafka.kafka

import java.util.concurrent.{CompletableFuture, ExecutionException, Executor, Future, TimeUnit}

import scala.util.control.NonFatal

import org.apache.kafka.common.errors.TimeoutException
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.DaemonThreads

/**
 * A client that is made on a thread of its own: it resolves addresses, reads key stores and may log in, which can take any time. No lock is
 * held meanwhile, and who waits for it has a time limit.
 *
 * @param shut closes it, on a thread of its own
 */
private[dynamickafka] final class Opening[C](val client: CompletableFuture[C])(shut: C => Unit)
    extends AutoCloseable {

  /** Whether it is still being made. Another one would hang as well. */
  def isBeingMade: Boolean = !client.isDone

  /** Whether it could not be made. */
  def isBroken: Boolean = client.isCompletedExceptionally

  /** The client, or why it could not be made. */
  def await(limitMs: Long): C =
    try Opening.answer(client, limitMs)
    catch {
      case _: java.util.concurrent.TimeoutException =>
        throw new TimeoutException(
          s"the client was not open within $limitMs ms: a log-in, or a class in its properties, does not end"
        )
    }

  /** Does not wait, also while it is being made. */
  override def close(): Unit = { val _ = client.thenAccept(made => ClientCloser.close(() => shut(made))) }
}

private[dynamickafka] object Opening {
  private val threads = new DaemonThreads("dynamic-kafka-open")

  def apply[C](make: => C)(shut: C => Unit): Opening[C] =
    new Opening(CompletableFuture.supplyAsync[C](() => make, threads))(shut)

  /** What a client answers, or the exception with which it does. */
  def answer[A](future: Future[A], limitMs: Long): A =
    try future.get(limitMs, TimeUnit.MILLISECONDS)
    catch { case e: ExecutionException if e.getCause != null => throw e.getCause }

  /** Asks all of these at once, and returns the answers in their order, or throws the first exception. */
  def answers[A, B](all: Seq[A], threads: Executor)(ask: A => B): Seq[B] =
    all.map(one => CompletableFuture.supplyAsync[B](() => ask(one), threads)).map(answer(_, Long.MaxValue))
}

/**
 * Closes clients that are not used any more, each on a thread of its own: a class in its properties may hang. Kafka's client waits for
 * its thread, which reports to all pending requests that it is closed; and who gives up a client may be a task of another cluster, the
 * thread of all time limits of this JVM (`CompletableFuture.orTimeout`), or holds a lock that the users of these requests need.
 */
private[dynamickafka] object ClientCloser {
  private val log = LoggerFactory.getLogger(ClientCloser.getClass)
  private val threads = new DaemonThreads("dynamic-kafka-close")

  /** Does not wait. */
  def close(client: AutoCloseable): Unit = threads.execute { () =>
    try client.close()
    catch { case NonFatal(e) => log.warn("Failed to close a client that is not used any more", e) }
  }
}
