package io.github.dynamickafka.kafka

import java.util.concurrent.{CompletableFuture, TimeUnit}

import io.github.dynamickafka.time.Clock

/**
 * Kafka clients between two uses, of all queries of this JVM. An idle client is closed when it has been idle for too
 * long, or when there are too many: the one that has been idle for longest first. Thread-safe.
 *
 * Not a pool of commons-pool2: which of several idle clients serves best depends on the records that it has fetched
 * already, and a `KeyedObjectPool` hands out any.
 *
 * @param capacity most idle clients
 * @param idleMs how long a client is kept, in milliseconds
 * @param close must not throw
 */
private[dynamickafka] final class IdlePool[C <: AnyRef](
    capacity: Int,
    idleMs: Long,
    clock: Clock,
    close: C => Unit
) {
  // The client that has been idle for longest comes first.
  private var idle = Vector.empty[(C, Long)]
  private var sweeping = false

  /**
   * Removes a client, which is then the caller's until it is given back or closed.
   *
   * @param choose one of the idle clients, the one that has been idle for longest first; runs under the pool's lock
   */
  def take(choose: Vector[C] => Option[C]): Option[C] = synchronized {
    val chosen = choose(idle.map(_._1))
    chosen.foreach(client => idle = idle.filterNot(_._1 eq client))
    chosen
  }

  def put(client: C): Unit = {
    val over = synchronized {
      idle = idle :+ (client -> clock.monotonicMs())
      val (out, kept) = idle.splitAt(idle.size - capacity)
      idle = kept
      sweepLater()
      out
    }
    over.foreach { case (old, _) => close(old) }
  }

  def size: Int = synchronized(idle.size)

  /** Closes the clients that have been idle for too long. */
  def sweep(): Unit = {
    val over = synchronized {
      val now = clock.monotonicMs()
      val (out, kept) = idle.partition { case (_, since) => now - since >= idleMs }
      idle = kept
      sweeping = false
      if (idle.nonEmpty) sweepLater()
      out
    }
    over.foreach { case (old, _) => close(old) }
  }

  private def sweepLater(): Unit = if (!sweeping) {
    sweeping = true
    CompletableFuture.delayedExecutor(idleMs, TimeUnit.MILLISECONDS).execute(() => sweep())
  }
}
