package io.github.dynamickafka.sink.commit

import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

import org.apache.kafka.common.errors.TimeoutException
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.{
  ClientOpener,
  ClusterFailure,
  IdlePool,
  ProducerSettings,
  SharedProducers
}

/**
 * The idle transactional producers of all queries of this JVM. Opening a producer takes fifty times as long as starting
 * a transaction with an open one. Thread-safe.
 *
 * @param idleMs how long an idle producer is kept, in milliseconds
 */
private[sink] final class TransactionPool(
    create: ProducerSettings => ResumableProducer,
    idleMs: Long,
    clock: Clock
) {
  import TransactionPool._

  private val idle =
    new IdlePool[Idle](Int.MaxValue, idleMs, clock, old => discard(old.settings, old.producer))

  // The producers in use that were idle before.
  private val reused = ConcurrentHashMap.newKeySet[ResumableProducer]

  /** A producer for the caller alone, until it is given back with [[release]] or [[discard]]. */
  def acquire(settings: ProducerSettings): ResumableProducer =
    idle.take(_.reverseIterator.find(_.settings == settings)) match {
      case Some(found) =>
        val _ = reused.add(found.producer)
        found.producer
      case None => opened(settings)
    }

  /** A producer that has done this, for the caller alone. If the credentials of an idle one are refused, a new one does it. */
  @annotation.tailrec
  def acquire(settings: ProducerSettings, first: ResumableProducer => Unit): ResumableProducer = {
    val producer = acquire(settings)
    val failure =
      try {
        first(producer)
        None
      } catch { case NonFatal(e) => Some(e) }
    failure match {
      case None => producer
      case Some(e) => if (discard(settings, producer, e)) acquire(settings, first) else throw e
    }
  }

  def release(settings: ProducerSettings, producer: ResumableProducer): Unit = {
    val _ = reused.remove(producer)
    idle.put(new Idle(settings, producer))
  }

  /** Closes a producer after an error. */
  def discard(settings: ProducerSettings, producer: ResumableProducer): Unit = {
    val _ = reused.remove(producer)
    close(settings, producer)
  }

  /**
   * The same. If its credentials may be outdated, all idle ones are closed too: the next one reads credentials again that are behind
   * references.
   *
   * @return whether a new producer may succeed at once, because this one had been open before and its credentials are refused
   */
  def discard(settings: ProducerSettings, producer: ResumableProducer, error: Throwable): Boolean = {
    val wasIdle = reused.remove(producer)
    close(settings, producer)
    val isRefused = ClusterFailure.isRefused(error)
    if (isRefused || error.isInstanceOf[TimeoutException])
      idle.takeAll(_.settings == settings).foreach(old => close(old.settings, old.producer))
    wasIdle && isRefused
  }

  private def close(settings: ProducerSettings, producer: ResumableProducer): Unit =
    try producer.kill()
    catch {
      case NonFatal(e) => log.warn(s"Failed to close a producer of Kafka cluster '${settings.cluster}'", e)
    }

  /** On another thread, because this may hang, and without end: Kafka's client has no limit for a log-in. */
  private def opened(settings: ProducerSettings): ResumableProducer = {
    val opening = ClientOpener.open(create(settings))
    try ClientOpener.await(opening, settings.maxBlockMs)
    catch {
      case e: Throwable =>
        val _ = opening.thenAccept(close(settings, _))
        throw e
    }
  }

  /** Uses a new producer, which knows nothing of the cluster yet, and closes it. */
  def withNew[A](settings: ProducerSettings)(use: ResumableProducer => A): A = {
    val producer = opened(settings)
    try use(producer)
    finally close(settings, producer)
  }

  def size: Int = idle.size

  def sweep(): Unit = idle.sweep()
}

private[sink] object TransactionPool {
  private final class Idle(val settings: ProducerSettings, val producer: ResumableProducer)

  private val log = LoggerFactory.getLogger(classOf[TransactionPool])

  /** The pool of this JVM. */
  lazy val shared: TransactionPool =
    new TransactionPool(ResumableProducer.create(_), SharedProducers.idleMs, Clock.System)
}
