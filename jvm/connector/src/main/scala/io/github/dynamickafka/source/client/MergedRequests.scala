package io.github.dynamickafka.source.client

import java.util.concurrent.{CompletableFuture, Executor, TimeUnit}

import scala.util.control.NonFatal

/**
 * Requests of one kind to one cluster by several users of a client. While one is pending, later ones wait and are sent as
 * one: Kafka's admin client has one request at a time on its way to each broker, so that the responses to many requests
 * to a distant cluster would come one round trip after another. Thread-safe.
 *
 * @param send sends a request about several keys
 * @param delayed runs a task after [[MergedRequests.LongestWaitMs]]
 */
private[client] final class MergedRequests[K, A](
    send: Set[K] => Map[K, CompletableFuture[A]],
    delayed: Executor = MergedRequests.Delayed
) {
  private var waiting = Map.empty[K, CompletableFuture[A]]
  private var sent: Option[AnyRef] = None

  /** A future of each key that its user alone completes early. */
  def apply(keys: Set[K]): Map[K, CompletableFuture[A]] =
    if (keys.isEmpty) Map.empty
    else {
      val (answers, isFree) = synchronized {
        waiting ++= (keys -- waiting.keySet).iterator.map(_ -> new CompletableFuture[A])
        (keys.iterator.map(key => key -> waiting(key)).toMap, sent.isEmpty)
      }
      // Before it is sent: a user may not see the response of another one as its own.
      val own = answers.map { case (key, answer) => key -> answer.copy() }
      if (isFree) sendWaiting(after = None)
      own
    }

  /** @param after the request that has ended, if this is not the first one */
  private def sendWaiting(after: Option[AnyRef]): Unit = {
    val request = new AnyRef
    val next = synchronized {
      if (sent != after) Map.empty[K, CompletableFuture[A]]
      else {
        val next = waiting
        waiting = Map.empty
        sent = Option.when(next.nonEmpty)(request)
        next
      }
    }
    if (next.nonEmpty) {
      val answers =
        try send(next.keySet)
        catch {
          case NonFatal(e) => next.map { case (key, _) => key -> CompletableFuture.failedFuture[A](e) }
        }
      // A response of any broker ends the wait: that of a frozen one would never come.
      delayed.execute(() => sendWaiting(after = Some(request)))
      answers.foreach { case (key, answer) =>
        answer.whenComplete { (value, error) =>
          sendWaiting(after = Some(request))
          val _ = if (error == null) next(key).complete(value) else next(key).completeExceptionally(error)
        }
      }
    }
  }
}

private[client] object MergedRequests {

  /** Longer than the round trip to any region, and short for those that wait for a broker of others. */
  val LongestWaitMs = 250L

  private val Delayed = CompletableFuture.delayedExecutor(LongestWaitMs, TimeUnit.MILLISECONDS)
}
