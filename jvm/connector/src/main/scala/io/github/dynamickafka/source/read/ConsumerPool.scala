package io.github.dynamickafka.source.read

import scala.util.control.NonFatal

import org.apache.spark.SparkEnv
import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.{ConsumerSettings, IdlePool}
import io.github.dynamickafka.time.Clock

/**
 * Consumers between two tasks, of all queries of an executor. A consumer that has records left waits for a task over its
 * own partitions; another one serves any partition of its cluster. Thread-safe.
 *
 * @param capacity idle consumers that are kept at most
 * @param idleMs how long an idle consumer is kept, in milliseconds
 * @param maxBytes most memory, in bytes, for what idle consumers have fetched for later tasks, about: one that is given back
 *                 beyond it stays connected, and fetches again
 */
private[source] final class ConsumerPool(
    open: ConsumerSettings => RangeConsumer,
    capacity: Int,
    idleMs: Long,
    clock: Clock,
    maxBytes: Long = Long.MaxValue
) {
  private val log = LoggerFactory.getLogger(classOf[ConsumerPool])
  private val idle = new IdlePool[RangeConsumer](capacity, idleMs, clock, discard)

  /**
   * A consumer for the caller alone, until it is given back with [[release]] or [[discard]].
   *
   * @param ranges what it is to read: if several consumers have read a partition, because its ranges were divided, the one
   *               that has prefetched from the start is chosen. None that has read another log of these partitions is
   */
  def acquire(settings: ConsumerSettings, ranges: RangeConsumer.Ranges): RangeConsumer = {
    val now = settings.withToken
    idle.take { consumers =>
      val same = consumers.filter(c => c.settings == now && c.fits(ranges))
      val own = same.filter(_.partitions.exists(ranges.contains))
      own.maxByOption(c => (c.prefetched(ranges), c.partitions.count(ranges.contains)))
        .orElse(same.find(!_.holdsRecords))
    }.getOrElse(open(now))
  }

  /** As [[acquire]], but never a consumer that has read before. */
  def create(settings: ConsumerSettings): RangeConsumer = open(settings.withToken)

  def release(consumer: RangeConsumer): Unit = {
    consumer.end()
    val bytes = consumer.measure()
    if (bytes > 0L && idle.clients.iterator.map(_.heldBytes).sum > maxBytes - bytes) consumer.forget()
    idle.put(consumer)
  }

  /** Closes a consumer: after an error its state is unknown. */
  def discard(consumer: RangeConsumer): Unit =
    try consumer.close()
    catch {
      case NonFatal(e) =>
        log.warn(s"Closing a consumer of Kafka cluster '${consumer.settings.cluster}' failed", e)
    }

  def size: Int = idle.size

  /** Whether a consumer that is given back now is kept without another one being closed. */
  def hasRoom: Boolean = size < capacity

  /** Closes consumers that have been idle for too long. */
  def sweep(): Unit = idle.sweep()
}

private[source] object ConsumerPool {

  /** The pool of this JVM. Its sizes are those of Spark's own cache, under Spark's names. */
  lazy val shared: ConsumerPool = {
    val conf = SparkEnv.get.conf
    new ConsumerPool(
      RangeConsumers.open(_),
      conf.getInt("spark.kafka.consumer.cache.capacity", 64),
      conf.getTimeAsMs("spark.kafka.consumer.cache.timeout", "5m"),
      Clock.System,
      Runtime.getRuntime.maxMemory / HeapShare
    )
  }

  private val HeapShare = 10
}
