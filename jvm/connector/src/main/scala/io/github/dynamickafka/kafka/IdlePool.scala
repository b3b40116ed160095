package io.github.dynamickafka.kafka

import java.util.concurrent.{CompletableFuture, TimeUnit}

import io.github.dynamickafka.base.Clock

/**
 * Kafka clients between two uses, of all queries of this JVM. An idle client is closed when it has been idle for too
 * long, or when there are too many. Thread-safe.
 *
 * If more clients are used in turn than fit in, closing the one that has been idle for longest would always close the one
 * that is required next. Therefore a full pool closes the client that is returned, and keeps the others for as long as
 * they may be in turn, which is [[IdlePool.TurnMs]]: clients of a query that has ended give way to those of the next one.
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
  import IdlePool._

  // The client that has been idle for longest comes first.
  private var idle = Vector.empty[Idle[C]]
  private var sweeping = false

  /**
   * Removes a client, which is then the caller's until it is given back or closed.
   *
   * @param choose one of the idle clients, the one that has been idle for longest first; runs under the pool's lock
   */
  def take(choose: Vector[C] => Option[C]): Option[C] = synchronized {
    val chosen = choose(idle.map(_.client))
    chosen.foreach(client => idle = idle.filterNot(_.client eq client))
    chosen
  }

  /** Removes all of these clients. */
  def takeAll(which: C => Boolean): Seq[C] = synchronized {
    val (out, kept) = idle.partition(i => which(i.client))
    idle = kept
    out.map(_.client)
  }

  def put(client: C): Unit = {
    val over = synchronized {
      val returned = Idle(client, clock.monotonicMs())
      val full = idle.size >= capacity
      val outdated = idle.headOption.filter(_ => full).filter(returned.sinceMs - _.sinceMs >= TurnMs)
      if (!full || outdated.isDefined) idle = idle.drop(outdated.size) :+ returned
      sweepLater()
      if (full) Some(outdated.getOrElse(returned)) else None
    }
    over.foreach(aside)
  }

  def size: Int = synchronized(idle.size)

  /** The idle clients. The caller must not use what is not thread-safe. */
  def clients: Seq[C] = synchronized(idle).map(_.client)

  /** Closes the clients that have been idle for too long. */
  def sweep(): Unit = {
    val over = synchronized {
      val now = clock.monotonicMs()
      val (out, kept) = idle.partition(now - _.sinceMs >= idleMs)
      idle = kept
      sweeping = false
      if (idle.nonEmpty) sweepLater()
      out
    }
    over.foreach(aside)
  }

  /** Whoever gives back or asks for a client of one cluster does not wait for one of another cluster that is closed. */
  private def aside(old: Idle[C]): Unit = ClientCloser.close(() => close(old.client))

  private def sweepLater(): Unit = if (!sweeping) {
    sweeping = true
    CompletableFuture.delayedExecutor(idleMs, TimeUnit.MILLISECONDS).execute(() => sweep())
  }
}

private object IdlePool {

  /** The time of a turn: longer than the batches of a query that opens its clients again and again would take. */
  val TurnMs = 10000L

  private final case class Idle[C](client: C, sinceMs: Long)
}
