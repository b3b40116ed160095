package io.github.dynamickafka.source.read

import java.lang.reflect.Field
import java.{util => ju}

import scala.util.control.NonFatal
import scala.util.{Failure, Success, Try}

import org.apache.kafka.clients.Metadata
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.Uuid
import org.apache.spark.SparkEnv
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.{ConsumerSettings, IdlePool}

/**
 * Consumers between two tasks, of all queries of an executor. A consumer that has records left waits for a task over its
 * own partitions; another one serves any partition of its cluster. Thread-safe.
 *
 * @param capacity idle consumers that are kept at most
 * @param idleMs how long an idle consumer is kept, in milliseconds
 * @param maxBytes about the most memory, in bytes, for what idle consumers have fetched for later tasks. A consumer that is given
 *                 back beyond it stays connected, and fetches again
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

  /** A consumer as with [[acquire]], but one that has read nothing before. */
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

/** Opens [[RangeConsumer]]s with Kafka's consumer. */
private[source] object RangeConsumers {

  def open(settings: ConsumerSettings): RangeConsumer = of(settings, kafka(settings))

  /** @param consumer one with these settings */
  def of(settings: ConsumerSettings, consumer: KafkaConsumer[Array[Byte], Array[Byte]]): RangeConsumer = {
    val uncommitted =
      Option.when(settings.readsCommitted)(() => kafka(settings.readingUncommitted))
    new RangeConsumer(settings, consumer, Clock.System, FetchedTopicIds(consumer), uncommitted)
  }

  private def kafka(settings: ConsumerSettings) =
    new KafkaConsumer[Array[Byte], Array[Byte]](settings.forConsumer)
}

/**
 * The ids of the topics (KIP-516) that a consumer knows by their names, and fetches from: brokers since 3.1 return no records
 * of another topic than that with the id of the request. Kafka's consumer has no public method for them, so they are read from
 * its metadata by reflection. A client whose internals are others gives none; then ids are compared by the driver alone.
 */
private[dynamickafka] object FetchedTopicIds {
  private val log = LoggerFactory.getLogger(getClass)
  @volatile private var isReported = false

  def apply(consumer: KafkaConsumer[_, _]): String => Option[String] =
    Try(metadata(consumer)) match {
      case Success(found) => new Texts(found)
      case Failure(e) =>
        if (!isReported) {
          isReported = true
          log.warn("Tasks do not compare the ids of topics: the Kafka client is not as expected", e)
        }
        _ => None
    }

  private def metadata(consumer: KafkaConsumer[_, _]): Metadata = {
    val delegate = open(classOf[KafkaConsumer[_, _]], "delegate").get(consumer)
    open(delegate.getClass, "metadata").get(delegate).asInstanceOf[Metadata]
  }

  private def open(owner: Class[_], name: String): Field = {
    val field = owner.getDeclaredField(name)
    field.setAccessible(true)
    field
  }

  /** Makes the text of the same ids once, because each poll asks for it. */
  private final class Texts(metadata: Metadata) extends (String => Option[String]) {
    private var ids: ju.Map[String, Uuid] = ju.Map.of()
    private var texts = Map.empty[String, String]

    override def apply(topic: String): Option[String] = {
      val now = metadata.topicIds
      if (now ne ids) {
        ids = now
        texts = Map.empty
      }
      texts.get(topic).orElse(Option(now.get(topic)).filter(_ != Uuid.ZERO_UUID).map { id =>
        val text = id.toString
        texts += topic -> text
        text
      })
    }
  }
}
