package io.github.dynamickafka.schemaregistry

import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, ExecutionException}

import scala.annotation.tailrec

/**
 * Results by key, each made by one thread while the others that need it wait. A failure is the result of all that wait, and is
 * not kept. Thread-safe.
 */
private[schemaregistry] final class Once[K, V] {
  private val kept = new ConcurrentHashMap[K, V]
  private val running = new ConcurrentHashMap[K, CompletableFuture[Option[V]]]

  def find(key: K): Option[V] = Option(kept.get(key))

  /** @param make None is not kept */
  @tailrec
  def get(key: K)(make: () => Option[V]): Option[V] = {
    val known = kept.get(key)
    if (known != null) Some(known)
    else {
      val own = new CompletableFuture[Option[V]]
      val other = running.putIfAbsent(key, own)
      if (other == null) run(key, own, make)
      else
        (try Some(other.get())
        catch {
          // The thread that asked was interrupted, this one was not.
          case e: ExecutionException if e.getCause.isInstanceOf[InterruptedException] => None
          case e: ExecutionException => throw e.getCause
        }) match {
          case Some(result) => result
          case None => get(key)(make)
        }
    }
  }

  private def run(key: K, own: CompletableFuture[Option[V]], make: () => Option[V]): Option[V] =
    try {
      // Another thread may have found it meanwhile.
      val result = find(key).orElse(make())
      result.foreach(kept.put(key, _))
      running.remove(key)
      own.complete(result)
      result
    } catch {
      // Errors too: without a result, those that wait would never return.
      case e: Throwable =>
        running.remove(key)
        own.completeExceptionally(e)
        throw e
    }
}
