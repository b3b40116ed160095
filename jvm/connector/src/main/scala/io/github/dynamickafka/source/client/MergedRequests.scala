package io.github.dynamickafka.source.client

import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.control.NonFatal

/**
 * Requests of one kind to one cluster by several users of a client. While one is pending, later ones wait and are sent as
 * one: Kafka's admin client has one request at a time on its way to each broker, so that the responses to many requests
 * to a distant cluster would come one round trip after another. Thread-safe.
 *
 * @param send sends a request about several keys
 * @param limit completes a future after [[MergedRequests.LongestWaitMs]], unless it is completed before
 */
private[client] final class MergedRequests[K, A](
    send: Set[K] => Map[K, CompletableFuture[A]],
    limit: CompletableFuture[Unit] => Unit = MergedRequests.limited
) {
  private var waiting = Map.empty[K, CompletableFuture[A]]
  private var isSent = false

  /** A future of each key that its user alone completes early. */
  def apply(keys: Set[K]): Map[K, CompletableFuture[A]] =
    if (keys.isEmpty) Map.empty
    else {
      val (answers, isFree) = synchronized {
        waiting ++= (keys -- waiting.keySet).iterator.map(_ -> new CompletableFuture[A])
        (keys.iterator.map(key => key -> waiting(key)).toMap, !isSent)
      }
      // Before it is sent: a user may not see the response of another one as its own.
      val own = answers.map { case (key, answer) => key -> answer.copy() }
      if (isFree) sendWaiting(isFirst = true)
      own
    }

  /** @param isFirst whether no request is pending; otherwise the pending one has ended */
  private def sendWaiting(isFirst: Boolean): Unit = {
    val next = synchronized {
      if (isFirst && isSent) Map.empty[K, CompletableFuture[A]]
      else {
        val next = waiting
        waiting = Map.empty
        isSent = next.nonEmpty
        next
      }
    }
    if (next.nonEmpty) {
      val answers =
        try send(next.keySet)
        catch {
          case NonFatal(e) => next.map { case (key, _) => key -> CompletableFuture.failedFuture[A](e) }
        }
      // Completed once. A response of any broker ends the wait: that of a frozen one would never come.
      val wait = new CompletableFuture[Unit]
      wait.thenRun(() => sendWaiting(isFirst = false))
      answers.foreach { case (key, answer) =>
        answer.whenComplete { (value, error) =>
          wait.complete(())
          val _ = if (error == null) next(key).complete(value) else next(key).completeExceptionally(error)
        }
      }
      limit(wait)
    }
  }
}

private[client] object MergedRequests {

  /** Longer than the round trip to any region, and short for those that wait for a broker of others. */
  val LongestWaitMs = 250L

  // A response cancels the timer. A delayed executor would run its task nevertheless, each on a thread of its own where the JVM
  // has at most two processors.
  private def limited(wait: CompletableFuture[Unit]): Unit = {
    val _ = wait.completeOnTimeout((), LongestWaitMs, TimeUnit.MILLISECONDS)
  }
}
