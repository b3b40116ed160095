package io.github.dynamickafka.sink.producer

import java.time.Duration
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.control.NonFatal

import org.apache.kafka.clients.producer.{KafkaProducer, Producer}
import org.apache.spark.SparkEnv
import org.slf4j.LoggerFactory

/**
 * One producer per cluster, shared by all tasks of this JVM, as in Spark's Kafka sink. Idle producers are closed after
 * a while, including those with outdated settings.
 *
 * @param now monotonic milliseconds
 */
private[sink] final class SharedProducers(
    create: ProducerSettings => Producer[Array[Byte], Array[Byte]],
    idleMs: Long,
    now: () => Long
) {
  import SharedProducers._

  private var entries = Map.empty[ProducerSettings, Entry]
  private var sweeping = false

  def acquire(settings: ProducerSettings): Lease = synchronized {
    val entry = entries.getOrElse(settings, new Entry(create(settings)))
    entries += settings -> entry
    entry.users += 1
    Lease(settings, entry.producer)
  }

  def release(lease: Lease): Unit = synchronized {
    entries.get(lease.settings).foreach { entry =>
      entry.users -= 1
      entry.since = now()
      sweepLater()
    }
  }

  def size: Int = synchronized(entries.size)

  def sweep(): Unit = {
    val over = synchronized {
      val (idle, used) = entries.partition { case (_, e) => e.users == 0 && now() - e.since >= idleMs }
      entries = used
      sweeping = false
      if (entries.nonEmpty) sweepLater()
      idle
    }
    over.foreach { case (settings, entry) =>
      // Does not wait: records that were not sent within the idle time will not be sent.
      try entry.producer.close(Duration.ZERO)
      catch {
        case NonFatal(e) => log.warn(s"Failed to close a producer of Kafka cluster '${settings.cluster}'", e)
      }
    }
  }

  private def sweepLater(): Unit = if (!sweeping) {
    sweeping = true
    CompletableFuture.delayedExecutor(idleMs, TimeUnit.MILLISECONDS).execute(() => sweep())
  }
}

private[sink] object SharedProducers {
  private val log = LoggerFactory.getLogger(classOf[SharedProducers])

  final case class Lease(settings: ProducerSettings, producer: Producer[Array[Byte], Array[Byte]])

  private final class Entry(val producer: Producer[Array[Byte], Array[Byte]]) {
    var users = 0
    var since = 0L
  }

  /** How long idle producers are kept, configured by the property of Spark's producer cache. */
  def idleMs: Long = SparkEnv.get.conf.getTimeAsMs("spark.kafka.producer.cache.timeout", "10m")

  /** The producers of this JVM. */
  lazy val shared: SharedProducers = new SharedProducers(
    settings => new KafkaProducer(settings.forProducer),
    idleMs,
    () => TimeUnit.NANOSECONDS.toMillis(System.nanoTime())
  )
}
