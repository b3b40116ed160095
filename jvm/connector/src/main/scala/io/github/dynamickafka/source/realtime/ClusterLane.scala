package io.github.dynamickafka.source.realtime

import java.util.concurrent.{ArrayBlockingQueue, CountDownLatch, TimeUnit, TimeoutException}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.common.errors.{InterruptException, RetriableException, WakeupException}
import org.apache.kafka.common.{KafkaException, TopicPartition}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.DaemonThreads
import io.github.dynamickafka.kafka.ClusterFailure
import io.github.dynamickafka.offset.{Loss, OffsetRange}
import io.github.dynamickafka.source.read.{ConsumerPool, RangeBundle, RangeConsumer, ReaderMetrics, Slice}

/**
 * Polls the partitions of one cluster for one task, on a thread of its own, and hands the records over to the thread of the task. It
 * polls no further while the task has not taken what was handed over.
 *
 * @param isRetried whether the task is: it gets a consumer that has read nothing before
 * @param skipUnreachable whether to try again if no consumer can be opened
 * @param arrived called when there is something to take, or when the lane has failed
 * @param closed called when a range is complete while the batch runs: its end is reached, or its position is lost
 */
private[realtime] final class ClusterLane(
    bundle: RangeBundle,
    pool: ConsumerPool,
    metrics: ReaderMetrics,
    isRetried: Boolean,
    skipUnreachable: Boolean,
    arrived: () => Unit,
    closed: () => Unit
) {
  import ClusterLane._

  private val handed = new ArrayBlockingQueue[Slice](Handed)
  private val ended = new CountDownLatch(1)
  @volatile private var stopped = false

  /** The consumer while the lane reads with it: afterwards it may be that of another task. */
  private var polling: Option[RangeConsumer] = None
  @volatile private var error: Option[Throwable] = None
  // Written before `ended`, read after it.
  private var left = Seq.empty[Slice]
  private var positions = Map.empty[TopicPartition, Long]

  // Finds the classes in the properties of the user.
  private val loader = Thread.currentThread.getContextClassLoader
  private val thread = new DaemonThreads(s"dynamic-kafka-poll-${bundle.cluster}").newThread(() => run())
  thread.setContextClassLoader(loader)

  def cluster: String = bundle.cluster

  def start(): Unit = thread.start()

  /** The next records, if some have arrived. Throws if the lane has failed. */
  def take(): Option[Slice] = {
    val slice = Option(handed.poll())
    if (slice.isEmpty) error.foreach(throw _)
    slice
  }

  /** Ends the thread, without waiting for it. */
  def stop(): Unit = synchronized {
    if (!stopped) polling.foreach(_.wakeUp())
    stopped = true
  }

  /**
   * What a lane that was stopped has fetched and not handed over, and the positions of the consumer behind all of it; None if its
   * thread does not end in time, or has failed.
   */
  def rest(waitMs: Long): Option[(Seq[Slice], Map[TopicPartition, Long])] =
    Option.when(ended.await(waitMs, TimeUnit.MILLISECONDS) && error.isEmpty) {
      (handed.asScala.toSeq ++ left, positions)
    }

  private def run(): Unit =
    try
      try open().foreach(follow)
      catch {
        case e: InterruptException => throw e
        case e @ (_: KafkaException | _: TimeoutException) =>
          throw ClusterFailure(bundle.cluster, bundle.consumer.properties, e)
      }
    catch {
      case e: Throwable =>
        error = Some(e)
        arrived()
    } finally ended.countDown()

  /** None: the lane was stopped before. */
  @annotation.tailrec
  private def open(): Option[RangeConsumer] =
    if (stopped) None
    else {
      val opened =
        try Some(
            if (isRetried) pool.create(bundle.consumer) else pool.acquire(bundle.consumer, bundle.byPartition)
          )
        catch {
          case NonFatal(e) if skipUnreachable && !ClusterFailure.isRefused(e) =>
            log.debug("No consumer of Kafka cluster '{}' can be opened", bundle.cluster, e)
            None
        }
      opened match {
        case None =>
          Thread.sleep(RetryMs)
          open()
        case some => some
      }
    }

  private def follow(consumer: RangeConsumer): Unit = {
    var sound = false
    try {
      synchronized { if (!stopped) polling = Some(consumer) }
      consumer.begin(bundle.byPartition)
      var bounded = bundle.byPartition.count(_._2.until != OffsetRange.NoEnd)
      var open = consumer.following
      var checkedAt = System.nanoTime()
      while (!stopped) {
        val slices =
          try consumer.follow(PollMs, lost)
          catch {
            // The driver decides when a cluster has been silent for too long.
            case _: RetriableException => Nil
            case _: WakeupException if stopped => Nil
          }
        hand(slices)
        if (!stopped && System.nanoTime() - checkedAt > CheckNanos) {
          checkedAt = System.nanoTime()
          consumer.closeRecreated(lost)
        }
        if (open.size != consumer.following.size) {
          val now = consumer.following
          val gone = open -- now
          val lostOnes = gone.count(bundle.byPartition(_).until == OffsetRange.NoEnd)
          bounded -= gone.size - lostOnes
          open = now
          // Of several drains of the cluster, the last one.
          if (lostOnes > 0 || bounded == 0) closed()
        }
      }
      synchronized { polling = None }
      consumer.sleepAgain()
      positions = consumer.reached()
      sound = true
    } catch {
      // In a request that is sent again by the next one who reads these ranges.
      case _: WakeupException if stopped => ()
    } finally if (sound) pool.release(consumer) else pool.discard(consumer)
  }

  private def hand(slices: Seq[Slice]): Unit = slices.foreach { slice =>
    var isHanded = false
    while (!isHanded && !stopped) isHanded = handed.offer(slice, PollMs, TimeUnit.MILLISECONDS)
    if (isHanded) arrived() else left :+= slice
  }

  private def lost(loss: Loss): Unit = {
    if (bundle.settings.failOnDataLoss) throw loss.error
    metrics.lost()
  }
}

private[realtime] object ClusterLane {
  private val log = LoggerFactory.getLogger(classOf[ClusterLane])

  /** The number of polls whose records are queued for the task, so that it does not wait for the next one. */
  private val Handed = 4

  /** How long a poll waits for records. The end of a batch ends it at once. */
  private val PollMs = 50L

  private val RetryMs = 1000L
  private val CheckNanos = TimeUnit.MILLISECONDS.toNanos(500)
}
