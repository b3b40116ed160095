package io.github.dynamickafka.sink.transaction

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.{IdlePool, ProducerSettings}
import io.github.dynamickafka.sink.producer.SharedProducers
import io.github.dynamickafka.time.Clock

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

  /** A producer for the caller alone, until it is given back with [[release]] or [[discard]]. */
  def acquire(settings: ProducerSettings): ResumableProducer =
    idle.take(_.reverseIterator.find(_.settings == settings)).fold(create(settings))(_.producer)

  def release(settings: ProducerSettings, producer: ResumableProducer): Unit =
    idle.put(new Idle(settings, producer))

  /** Closes a producer after an error. */
  def discard(settings: ProducerSettings, producer: ResumableProducer): Unit =
    try producer.kill()
    catch {
      case NonFatal(e) => log.warn(s"Failed to close a producer of Kafka cluster '${settings.cluster}'", e)
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
