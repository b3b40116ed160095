package io.github.dynamickafka.sink.transaction

import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.sink.producer.{ProducerSettings, SharedProducers}

/**
 * The idle transactional producers of all queries of this JVM. Opening a producer takes fifty times as long as starting
 * a transaction with an open one. Thread-safe.
 *
 * @param now monotonic milliseconds
 */
private[sink] final class TransactionPool(
    create: ProducerSettings => ResumableProducer,
    idleMs: Long,
    now: () => Long
) {
  import TransactionPool._

  // The producer that is idle longest comes first.
  private var idle = Vector.empty[Idle]
  private var sweeping = false

  /** The producer belongs to the caller until it calls [[release]] or [[discard]]. */
  def acquire(settings: ProducerSettings): ResumableProducer = synchronized {
    val found = idle.reverseIterator.find(_.settings == settings)
    found.foreach(f => idle = idle.filterNot(_ eq f))
    found.map(_.producer)
  }.getOrElse(create(settings))

  def release(settings: ProducerSettings, producer: ResumableProducer): Unit = synchronized {
    idle = idle :+ Idle(settings, producer, now())
    sweepLater()
  }

  /** Closes a producer after an error. */
  def discard(settings: ProducerSettings, producer: ResumableProducer): Unit =
    try producer.kill()
    catch {
      case NonFatal(e) => log.warn(s"Failed to close a producer of Kafka cluster '${settings.cluster}'", e)
    }

  def size: Int = synchronized(idle.size)

  def sweep(): Unit = {
    val over = synchronized {
      val (out, kept) = idle.partition(now() - _.since >= idleMs)
      idle = kept
      sweeping = false
      if (idle.nonEmpty) sweepLater()
      out
    }
    over.foreach(o => discard(o.settings, o.producer))
  }

  private def sweepLater(): Unit = if (!sweeping) {
    sweeping = true
    CompletableFuture.delayedExecutor(idleMs, TimeUnit.MILLISECONDS).execute(() => sweep())
  }
}

private[sink] object TransactionPool {
  private final case class Idle(settings: ProducerSettings, producer: ResumableProducer, since: Long)

  private val log = LoggerFactory.getLogger(classOf[TransactionPool])

  /** The pool of this JVM. */
  lazy val shared: TransactionPool = new TransactionPool(
    ResumableProducer.create(_),
    SharedProducers.idleMs,
    () => TimeUnit.NANOSECONDS.toMillis(System.nanoTime())
  )
}
