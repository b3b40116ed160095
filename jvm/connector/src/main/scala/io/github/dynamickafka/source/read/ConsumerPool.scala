package io.github.dynamickafka.source.read

import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.control.NonFatal

import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.TopicPartition
import org.apache.spark.SparkEnv
import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.ConsumerSettings

/**
 * Consumers between two tasks, of all queries of an executor. One that has records left waits for a task over its own
 * partitions; another serves any partition of its cluster. Safe to be used from any thread.
 *
 * @param capacity idle consumers that are kept; beyond it the one that is idle for longest is closed
 * @param idleMs how long one is kept
 * @param now monotonic milliseconds
 */
private[source] final class ConsumerPool(
    open: ConsumerSettings => RangeConsumer,
    capacity: Int,
    idleMs: Long,
    now: () => Long
) {
  import ConsumerPool._

  // The one that is idle for longest comes first.
  private var idle = Vector.empty[Idle]
  private var sweeping = false

  /** Of the caller alone, until it gives it back with [[release]] or [[discard]]. */
  def acquire(settings: ConsumerSettings, partitions: Set[TopicPartition]): RangeConsumer =
    take(settings, partitions).getOrElse(create(settings))

  /** As [[acquire]], but never one that has read before. */
  def create(settings: ConsumerSettings): RangeConsumer = open(settings)

  private def take(settings: ConsumerSettings, partitions: Set[TopicPartition]): Option[RangeConsumer] =
    synchronized {
      val same = idle.filter(_.consumer.settings == settings)
      val own = same.filter(_.partitions.exists(partitions))
      val chosen = own.maxByOption(_.partitions.count(partitions)).orElse(same.find(!_.consumer.holdsRecords))
      chosen.foreach(found => idle = idle.filterNot(_ eq found))
      chosen.map(_.consumer)
    }

  def release(consumer: RangeConsumer): Unit = {
    consumer.end()
    val entry = Idle(consumer, consumer.partitions, now())
    val over = synchronized {
      idle = idle :+ entry
      val (out, kept) = idle.splitAt(idle.size - capacity)
      idle = kept
      sweepLater()
      out
    }
    over.foreach(o => discard(o.consumer))
  }

  /** Closes it: after an error nobody knows what state it is in. */
  def discard(consumer: RangeConsumer): Unit =
    try consumer.close()
    catch {
      case NonFatal(e) =>
        log.warn(s"Closing a consumer of Kafka cluster '${consumer.settings.cluster}' failed", e)
    }

  def size: Int = synchronized(idle.size)

  /** Closes what has been idle for too long. */
  def sweep(): Unit = {
    val over = synchronized {
      val (out, kept) = idle.partition(now() - _.since >= idleMs)
      idle = kept
      sweeping = false
      if (idle.nonEmpty) sweepLater()
      out
    }
    over.foreach(o => discard(o.consumer))
  }

  private def sweepLater(): Unit = if (!sweeping) {
    sweeping = true
    CompletableFuture.delayedExecutor(idleMs, TimeUnit.MILLISECONDS).execute(() => sweep())
  }
}

private[source] object ConsumerPool {
  private final case class Idle(consumer: RangeConsumer, partitions: Set[TopicPartition], since: Long)

  private val log = LoggerFactory.getLogger(classOf[ConsumerPool])

  /** The one of this JVM. Its sizes are those of Spark's own cache, under Spark's names. */
  lazy val shared: ConsumerPool = {
    val conf = SparkEnv.get.conf
    new ConsumerPool(
      settings =>
        new RangeConsumer(settings, new KafkaConsumer[Array[Byte], Array[Byte]](settings.forConsumer)),
      conf.getInt("spark.kafka.consumer.cache.capacity", 64),
      conf.getTimeAsMs("spark.kafka.consumer.cache.timeout", "5m"),
      () => TimeUnit.NANOSECONDS.toMillis(System.nanoTime())
    )
  }
}
