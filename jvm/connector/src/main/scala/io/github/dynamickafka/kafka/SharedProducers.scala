package io.github.dynamickafka.kafka

import java.time.Duration

import scala.util.Using

import org.apache.kafka.clients.producer.{KafkaProducer, Producer}
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.{
  ClusterAuthorizationException,
  ProducerFencedException,
  TimeoutException
}
import org.apache.spark.{SparkConf, SparkEnv}

import io.github.dynamickafka.base.Clock

/**
 * One producer per cluster, shared by all tasks of this JVM, as in Spark's Kafka sink. Idle producers are closed after
 * a while, including those with outdated settings.
 *
 * @param idleMs how long an idle producer is kept, in milliseconds
 */
private[dynamickafka] final class SharedProducers(
    create: ProducerSettings => Producer[Array[Byte], Array[Byte]],
    idleMs: Long,
    clock: Clock
) {
  import SharedProducers._

  private val idle = new IdlePool[Lease](Int.MaxValue, idleMs, clock, _.opening.close())
  private var used = Map.empty[ProducerSettings, Lease]

  /** Opens a producer outside the lock of the pool, so that no task waits for the producer of another cluster. */
  def acquire(settings: ProducerSettings): Lease = {
    val lease = synchronized {
      val found = used.get(settings)
        .orElse(idle.take(_.find(_.settings == settings)))
        .getOrElse(new Lease(settings, create))
      used += settings -> found
      found.users += 1
      found
    }
    try {
      val _ = lease.producer
      lease
    } catch {
      case e: Throwable =>
        // Another one would hang as well.
        if (!lease.opening.isBeingMade) retire(lease)
        release(lease)
        throw e
    }
  }

  /** Called by each user, once. */
  def release(lease: Lease): Unit = synchronized {
    lease.users -= 1
    if (lease.users == 0) {
      if (lease.isRetired) lease.opening.close()
      else {
        used -= lease.settings
        idle.put(lease)
      }
    }
  }

  /**
   * Ensures that this producer is not used by others any more, because it has failed for good: the next one reads the
   * credentials behind references again. It is closed when its last user has released it.
   */
  def retire(lease: Lease): Unit = synchronized {
    lease.isRetired = true
    if (used.get(lease.settings).exists(_ eq lease)) used -= lease.settings
  }

  /** Uses a new producer, which knows nothing of the cluster yet, and closes it. */
  def withNew[A](settings: ProducerSettings)(use: Producer[Array[Byte], Array[Byte]] => A): A =
    Using.resource(new Lease(settings, create).opening)(opening => use(opening.await(settings.maxBlockMs)))

  def size: Int = synchronized(used.size + idle.size)

  def sweep(): Unit = idle.sweep()
}

private[dynamickafka] object SharedProducers {

  /** A producer as its users have it. */
  final class Lease private[SharedProducers] (
      val settings: ProducerSettings,
      create: ProducerSettings => Producer[Array[Byte], Array[Byte]]
  ) {
    // A record that has not been sent when it is closed never will be.
    private[SharedProducers] val opening = Opening(create(settings))(_.close(Duration.ZERO))

    @volatile private var made: Producer[Array[Byte], Array[Byte]] = _

    /** Waits for it once, because each record asks. */
    def producer: Producer[Array[Byte], Array[Byte]] = {
      if (made == null) made = opening.await(settings.maxBlockMs)
      made
    }

    // Both are guarded by the pool.
    private[SharedProducers] var users = 0
    private[SharedProducers] var isRetired = false
  }

  /**
   * Whether a producer may fail with each record from now on: its credentials are refused, or it is in an error state, which
   * Kafka's client reports with this class and no other. A time-out too: a producer whose credentials are outdated cannot connect to
   * brokers again, and its records wait until then.
   */
  def isFatal(error: Throwable): Boolean =
    ClusterFailure.isRefused(
      error
    ) || error.isInstanceOf[TimeoutException] || error.getClass == classOf[KafkaException] ||
      error.isInstanceOf[ClusterAuthorizationException] || error.isInstanceOf[ProducerFencedException]

  /** How long idle producers are kept: as in Spark's own sink, under Spark's name. */
  def idleMs: Long = Option(SparkEnv.get).map(_.conf).getOrElse(new SparkConf)
    .getTimeAsMs("spark.kafka.producer.cache.timeout", "10m")

  /** The producers of this JVM. */
  lazy val shared: SharedProducers =
    new SharedProducers(settings => new KafkaProducer(settings.forProducer), idleMs, Clock.System)
}
