package io.github.dynamickafka.source.read

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, Executor, TimeUnit}

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange

/**
 * Opens consumers for tasks that are likely to start next on this executor, and waits for their first records, while other
 * tasks read. A new consumer needs about six round trips to a cluster before its first record, which a distant cluster
 * would otherwise cost again each time that it is the turn of other partitions.
 *
 * The consumers and their records are left in the pool, where the task finds them. If the task starts on another executor,
 * or never, they are idle consumers like others. Errors are left to the task, with a consumer of its own. Thread-safe.
 */
private[source] final class ReadAhead(pool: ConsumerPool, threads: Executor, clock: Clock) {
  import ReadAhead._

  private val running = new ConcurrentHashMap[Key, Fetch]

  /** Begins to fetch for these bundles. Does not wait. */
  def begin(bundles: Seq[RangeBundle]): Unit = bundles.foreach { bundle =>
    val fetch = new Fetch(bundle)
    // A full pool would close the consumer before the task uses it.
    if (pool.hasRoom && running.putIfAbsent(key(bundle), fetch) == null)
      try threads.execute(fetch)
      catch {
        // A fetch that never runs would never be handed over.
        case e: Throwable => fetch.end(); throw e
      }
  }

  /**
   * Ends the fetch for a bundle, if there is one, and waits until its consumer is in the pool. If the consumer is waiting
   * for records, this takes as long as a poll.
   *
   * @param check called between waits; throws if the task must end
   */
  def handOver(bundle: RangeBundle, check: () => Unit): Unit =
    Option(running.get(key(bundle))).foreach(_.handOver(check))

  private final class Fetch(bundle: RangeBundle) extends Runnable {
    // Finds the classes in the properties of the user.
    private val loader = Thread.currentThread.getContextClassLoader
    private val done = new CountDownLatch(1)
    private val untilMs = clock.monotonicMs() + LongestMs
    @volatile private var wanted = false

    override def run(): Unit = {
      Thread.currentThread.setContextClassLoader(loader)
      try if (!wanted) prefetch()
      catch {
        case NonFatal(e) => log.debug("Cluster '{}': nothing is fetched ahead", bundle.cluster, e)
      } finally end()
    }

    def end(): Unit = {
      running.remove(key(bundle))
      done.countDown()
    }

    private def prefetch(): Unit = {
      val consumer = pool.acquire(bundle.consumer, bundle.byPartition)
      var sound = false
      try {
        consumer.prefetch(bundle.byPartition, PollMs, () => !wanted && clock.monotonicMs() < untilMs)
        sound = true
      } finally if (sound) pool.release(consumer) else pool.discard(consumer)
    }

    def handOver(check: () => Unit): Unit = {
      wanted = true
      await(check)
    }

    @tailrec private def await(check: () => Unit): Unit =
      if (!done.await(PollMs, TimeUnit.MILLISECONDS)) {
        check()
        await(check)
      }
  }
}

private[source] object ReadAhead {
  private val log = LoggerFactory.getLogger(classOf[ReadAhead])

  /** How long a fetch may keep a thread, in milliseconds. */
  private val LongestMs = 10000L

  /** How long a task may wait for a consumer that gets no records, in milliseconds. */
  private val PollMs = 100L

  private type Key = (ConsumerSettings, Set[OffsetRange])

  private def key(bundle: RangeBundle): Key = bundle.consumer -> bundle.ranges.map(_.range).toSet

  /** The instance of this JVM. */
  lazy val shared: ReadAhead = new ReadAhead(ConsumerPool.shared, SharedTaskReader.threads, Clock.System)
}
