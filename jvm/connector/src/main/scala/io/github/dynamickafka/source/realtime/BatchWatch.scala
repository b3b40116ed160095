package io.github.dynamickafka.source.realtime

import java.util.UUID
import java.util.concurrent.{Executors, ScheduledExecutorService, ScheduledFuture, TimeUnit}
import java.{util => ju}

import scala.concurrent.Future
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.rpc.DynamicKafkaEndpoint
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Clock, DaemonThreads}

/**
 * Decides on a thread of its own when a running batch ends before its duration is over, and tells its tasks. Thread-safe.
 *
 * @param minBatchMs how long a batch lasts at least
 * @param latencies gets what tasks report
 * @param fits whether the start of the batch still fits; called every [[BatchWatch.TickMs]], never while the batch does not run
 * @param prepare called once before the tasks of a batch are ended early
 */
private[realtime] final class BatchWatch(
    minBatchMs: Long,
    clock: Clock,
    latencies: BatchLatencies,
    fits: () => Boolean,
    prepare: () => Unit
) extends AutoCloseable {
  import BatchWatch._

  private val log = LoggerFactory.getLogger(classOf[BatchWatch])
  private lazy val ends = new BatchEnds(() => isRequested = true, latencies)
  private lazy val threads: ScheduledExecutorService = {
    isOpen = true
    Executors.newSingleThreadScheduledExecutor(new DaemonThreads("dynamic-kafka-real-time"))
  }
  private var isOpen = false
  private var ticks: Option[ScheduledFuture[_]] = None
  @volatile private var isRequested = false
  @volatile private var running: Option[Running] = None
  @volatile private var slots: Option[Int] = None

  /** The most tasks that run at a time, if a batch had more. */
  def knownSlots: Option[Int] = slots

  /** A batch with this many tasks is planned. It runs until [[end]]. */
  def begin(tasks: Int): BatchAddress = {
    isRequested = false
    val address = ends.begin()
    running = Some(new Running(tasks, clock.monotonicMs()))
    ticks = Some(threads.scheduleWithFixedDelay(() => tick(), TickMs, TickMs, TimeUnit.MILLISECONDS))
    address
  }

  /** The running batch ends as soon as it may, and not at the end of its duration. */
  def request(): Unit = isRequested = true

  /** The running batch ends now. */
  def endNow(): Unit = ends.end()

  /** The tasks of the batch have ended. */
  def end(): Unit = {
    running = None
    ticks.foreach(_.cancel(false))
    ticks = None
    ends.end()
  }

  private def tick(): Unit = running.foreach { batch =>
    try {
      val age = clock.monotonicMs() - batch.begun
      if (!batch.areSlotsKnown && age >= SlotsMs) {
        batch.areSlotsKnown = true
        val tasks = ends.tasks
        if (tasks < batch.tasks) {
          slots = Some(math.max(1, tasks))
          log.warn(
            "Only {} of the {} tasks of the batch have started after {} ms: there are not enough cores for all of them. The next " +
              "batch has {} tasks. Set 'realTimeTasks', or use more cores",
            tasks,
            batch.tasks,
            SlotsMs,
            math.max(1, tasks)
          )
          isRequested = true
        }
      }
      if (!isRequested && !fits()) isRequested = true
      if (isRequested && age >= minBatchMs && !batch.isTold) {
        batch.isTold = true
        try prepare()
        finally ends.end()
      }
    } catch { case NonFatal(e) => log.warn("Failed to find whether the batch has to end", e) }
  }

  override def close(): Unit = if (isOpen) {
    end()
    threads.shutdownNow()
    val _ = threads.awaitTermination(CloseMs, TimeUnit.MILLISECONDS)
    ends.close()
  }
}

private[realtime] object BatchWatch {
  private val TickMs = 50L

  /** How long tasks may take to start. */
  private val SlotsMs = 10000L
  private val CloseMs = 2000L

  private final class Running(val tasks: Int, val begun: Long) {
    @volatile var areSlotsKnown = false

    /** Used by the thread of the watch alone. */
    var isTold = false
  }
}

/**
 * Tells the tasks of a query that their batch has ended: an endpoint in the driver, to which the reply is late. Thread-safe.
 *
 * A question is the number of a batch; the reply, that it has ended. The negative number asks that it ends.
 *
 * @param requested called when a task asks that the batch ends
 * @param latencies gets what tasks report while the batch runs
 */
private[realtime] final class BatchEnds(requested: () => Unit, latencies: BatchLatencies)
    extends AutoCloseable {
  private val name = s"dynamic-kafka-${UUID.randomUUID()}"
  private var batch = 0L
  private var isRunning = false
  private var waiting = List.empty[Boolean => Unit]
  private val endpoint = DynamicKafkaEndpoint.open(name, reported => latencies.add(reported.asScala))(answer)

  /** A batch begins, whose tasks get this. */
  def begin(): BatchAddress = synchronized {
    batch += 1
    isRunning = true
    BatchAddress(name, batch)
  }

  /** The number of tasks of the batch that have asked for its end, and so run. */
  def tasks: Int = synchronized(waiting.size)

  /** The batch ends. */
  def end(): Unit = {
    val replies = synchronized {
      isRunning = false
      val all = waiting
      waiting = Nil
      all
    }
    replies.foreach(_(true))
  }

  private def answer(question: Long, reply: Boolean => Unit): Unit = {
    val isOver = synchronized {
      val over = !isRunning || math.abs(question) != batch
      if (!over && question > 0) waiting ::= reply
      over
    }
    if (isOver || question < 0) reply(isOver)
    if (!isOver && question < 0) requested()
  }

  override def close(): Unit = {
    end()
    endpoint.close()
  }
}

private[realtime] object BatchEnds {

  /** A time longer than batches are: a question has no cost while it waits. */
  private val Within = 24.hours

  /** Reports latencies of a batch to the driver. */
  def reporter(batch: BatchAddress): Iterable[(String, Array[Long])] => Unit = {
    val tell = DynamicKafkaEndpoint.teller(batch.endpoint)
    counts => tell(new ju.HashMap(counts.toMap.asJava))
  }

  /** Completed when the batch has ended. */
  def await(batch: BatchAddress): Future[Boolean] =
    DynamicKafkaEndpoint.ask(batch.endpoint, batch.batch, Within)

  /** Asks that the batch ends, because a range cannot be read further. */
  def request(batch: BatchAddress): Future[Boolean] =
    DynamicKafkaEndpoint.ask(batch.endpoint, -batch.batch, Within)
}
