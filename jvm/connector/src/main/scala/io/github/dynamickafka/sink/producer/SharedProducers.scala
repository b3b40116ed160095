package io.github.dynamickafka.sink.producer

import java.time.Duration

import scala.util.control.NonFatal

import org.apache.kafka.clients.producer.{KafkaProducer, Producer}
import org.apache.spark.SparkEnv
import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.{IdlePool, ProducerSettings}
import io.github.dynamickafka.time.Clock

/**
 * One producer per cluster, shared by all tasks of this JVM, as in Spark's Kafka sink. Idle producers are closed after
 * a while, including those with outdated settings.
 *
 * @param idleMs how long an idle producer is kept, in milliseconds
 */
private[sink] final class SharedProducers(
    create: ProducerSettings => Producer[Array[Byte], Array[Byte]],
    idleMs: Long,
    clock: Clock
) {
  import SharedProducers._

  private val idle = new IdlePool[Shared](Int.MaxValue, idleMs, clock, close)
  private var used = Map.empty[ProducerSettings, Shared]

  def acquire(settings: ProducerSettings): Lease = synchronized {
    val shared = used.get(settings)
      .orElse(idle.take(_.find(_.settings == settings)))
      .getOrElse(new Shared(settings, create(settings)))
    used += settings -> shared
    shared.users += 1
    Lease(settings, shared.producer)
  }

  def release(lease: Lease): Unit = synchronized {
    used.get(lease.settings).foreach { shared =>
      shared.users -= 1
      if (shared.users == 0) {
        used -= lease.settings
        idle.put(shared)
      }
    }
  }

  def size: Int = synchronized(used.size + idle.size)

  def sweep(): Unit = idle.sweep()
}

private[sink] object SharedProducers {
  private val log = LoggerFactory.getLogger(classOf[SharedProducers])

  final case class Lease(settings: ProducerSettings, producer: Producer[Array[Byte], Array[Byte]])

  private final class Shared(
      val settings: ProducerSettings,
      val producer: Producer[Array[Byte], Array[Byte]]
  ) {
    var users = 0
  }

  private def close(shared: Shared): Unit =
    // A record that has not been sent after all that time never will be.
    try shared.producer.close(Duration.ZERO)
    catch {
      case NonFatal(e) =>
        log.warn(s"Closing a producer of Kafka cluster '${shared.settings.cluster}' failed", e)
    }

  /** How long idle producers are kept: as in Spark's own sink, under Spark's name. */
  def idleMs: Long = SparkEnv.get.conf.getTimeAsMs("spark.kafka.producer.cache.timeout", "10m")

  /** The producers of this JVM. */
  lazy val shared: SharedProducers =
    new SharedProducers(settings => new KafkaProducer(settings.forProducer), idleMs, Clock.System)
}
