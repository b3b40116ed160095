package io.github.dynamickafka.source.reader

import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.control.NonFatal

import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.TopicPartition
import org.apache.spark.SparkEnv
import org.slf4j.LoggerFactory

/**
 * The idle consumers of all queries of an executor. A consumer with prefetched records is only used for tasks with one
 * of its partitions; any other consumer serves all partitions of its cluster. Thread-safe.
 *
 * @param capacity the maximum number of idle consumers; beyond it, the one that is idle longest is closed
 * @param idleMs how long an idle consumer is kept, in milliseconds
 * @param now monotonic milliseconds
 */
private[source] final class ConsumerPool(
    open: ConsumerSettings => RangeConsumer,
    capacity: Int,
    idleMs: Long,
    now: () => Long
) {
  import ConsumerPool._

  // The consumer that is idle longest comes first.
  private var idle = Vector.empty[Idle]
  private var sweeping = false

  /** The consumer belongs to the caller until it calls [[release]] or [[discard]]. */
  def acquire(settings: ConsumerSettings, partitions: Set[TopicPartition]): RangeConsumer =
    take(settings, partitions).getOrElse(create(settings))

  /** Like [[acquire]], but always opens a new consumer. */
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

  /** Closes a consumer, because its state is unknown after an error. */
  def discard(consumer: RangeConsumer): Unit =
    try consumer.close()
    catch {
      case NonFatal(e) =>
        log.warn(s"Failed to close a consumer of Kafka cluster '${consumer.settings.cluster}'", e)
    }

  def size: Int = synchronized(idle.size)

  /** Closes consumers that have been idle for too long. */
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

  /** The pool of this JVM, configured by the properties of Spark's consumer cache. */
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
