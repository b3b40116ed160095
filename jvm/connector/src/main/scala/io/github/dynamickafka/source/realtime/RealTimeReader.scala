package io.github.dynamickafka.source.realtime

import java.util.concurrent.{ArrayBlockingQueue, CountDownLatch, Semaphore, TimeUnit, TimeoutException}

import scala.collection.immutable.SortedMap
import scala.collection.mutable
import scala.concurrent.ExecutionContext
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.errors.{InterruptException, RetriableException, WakeupException}
import org.apache.kafka.common.{KafkaException, TopicPartition}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.util.LongAccumulator
import org.apache.spark.{TaskContext, TaskKilledException}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.DaemonThreads
import io.github.dynamickafka.kafka.ClusterFailure
import io.github.dynamickafka.offset.{OffsetRange, Positions}
import io.github.dynamickafka.source.read.{
  ConsumerPool,
  RangeBundle,
  RangeConsumer,
  ReaderMetrics,
  RecordRows,
  Slice,
  TaskDecoder
}

/**
 * Reads a [[RealTimeTask]] until its batch ends. The rows of one partition are in offset order. A cluster with many records does not
 * delay those of another one by more than [[RealTimeReader.Turn]] rows. Used by the thread of the task.
 *
 * @param decoder decodes the records; None: the columns of Spark's Kafka source, then `cluster` and `stream`
 * @param lostRecords counts the records that are missing, where the query continues without them
 */
private[source] final class RealTimeReader(
    task: RealTimeTask,
    pool: ConsumerPool,
    decoder: Option[TaskDecoder],
    lostRecords: Option[LongAccumulator]
) {
  import RealTimeReader._

  private val context = Option(TaskContext.get())
  private val arrived = new Semaphore(0)
  private val metrics = new ReaderMetrics(lostRecords)
  @volatile private var batchEnded = false
  @volatile private var closed = false
  private var started = false
  private val readings = task.bundles.map(new ClusterReading(_)).toIndexedSeq
  private var turn = 0
  private var taken = 0
  private var reportedAt = System.nanoTime()
  private lazy val report = BatchEnds.reporter(task.batch)
  private var row: InternalRow = _
  private var rows: RecordRows = _

  /** Whether a record may have several rows. */
  private val several = decoder.exists(_.several)

  // Spark does not close readers of this mode when a task ends early.
  context.foreach(_.addTaskCompletionListener[Unit](_ => close()))

  /**
   * Waits for the next row.
   *
   * @return false at the end of the batch, or after this time
   */
  def next(timeoutMs: Long): Boolean = (several && more()) || {
    if (!started) start()
    val begun = System.nanoTime()
    reportIfDue(begun)
    // A deadline in the middle of a record would repeat the rows before it.
    val limit = TimeUnit.MILLISECONDS.toNanos(if (several) math.max(0L, timeoutMs - MarginMs) else timeoutMs)
    await(begun, limit)
  }

  @annotation.tailrec
  private def await(begun: Long, limit: Long): Boolean =
    if (batchEnded) {
      row = null
      false
    } else {
      val isTaken = advance()
      (row ne null) || {
        val left = limit - (System.nanoTime() - begun)
        left > 0L && {
          if (!isTaken) {
            pause(left)
            // A cluster may have no record for the rest of the batch.
            reportIfDue(System.nanoTime())
          }
          await(begun, limit)
        }
      }
    }

  /** Reports the latencies to the driver, at most once in `ReportNanos`. */
  private def reportIfDue(now: Long): Unit = if (now - reportedAt > ReportNanos) {
    reportedAt = now
    val counts = takeLatencies()
    if (counts.nonEmpty) report(counts)
  }

  private def pause(nanos: Long): Unit = {
    val _ = arrived.tryAcquire(math.min(nanos, StepNanos), TimeUnit.NANOSECONDS)
    if (closed || context.exists(_.isInterrupted())) throw new TaskKilledException
  }

  def get(): InternalRow = row

  /** What has been handed to Spark. Ends the reader. */
  def positions(): TaskPositions = {
    // Spark may have ended the batch between two rows of a record, which is then read again.
    val isHalfRead = several && more()
    decoder.foreach(_.finish())
    readings.foreach(_.stop())
    val until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(StopMs)
    val reached = readings.map(reading =>
      reading.cluster -> reading.reached(isHalfRead, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime()))
    )
    def of(positions: Reached => Positions) = SortedMap.from(reached.map { case (id, r) =>
      id -> positions(r)
    })
    TaskPositions(of(_.positions), of(_.epochs), takeLatencies())
  }

  /** What was not reported before, by cluster. */
  private def takeLatencies(): Seq[(String, Array[Long])] =
    readings.map(reading => reading.cluster -> reading.latencies.take()).filter(_._2.nonEmpty)

  def close(): Unit = {
    closed = true
    readings.foreach(_.stop())
  }

  private def start(): Unit = {
    started = true
    val ended = BatchEnds.await(task.batch)
    ended.foreach { _ =>
      batchEnded = true
      arrived.release()
    }(ExecutionContext.parasitic)
    readings.foreach(_.start())
  }

  private def more(): Boolean = {
    if (row ne null) row = rows.more()
    row ne null
  }

  /** Takes the next record, if there is one. It may yield no row. */
  private def advance(): Boolean = {
    var looked = 0
    var isTaken = false
    row = null
    while (!isTaken && looked <= readings.size) {
      val reading = if (readings.isEmpty) null else readings(turn)
      if ((reading ne null) && taken < Turn && reading.hasNext) {
        taken += 1
        isTaken = true
        rows = reading.rows
        row = rows.of(reading.next())
      } else {
        looked += 1
        taken = 0
        if (readings.nonEmpty) turn = (turn + 1) % readings.size
      }
    }
    isTaken
  }

  private final class ClusterReading(bundle: RangeBundle) {
    private val poller = new ClusterPoller(
      bundle,
      pool,
      metrics,
      isRetried = context.exists(_.attemptNumber() > 0),
      task.skipUnreachable,
      () => if (arrived.availablePermits == 0) arrived.release(),
      () => { val _ = BatchEnds.request(task.batch) }
    )
    private val rowsOf = bundle.rows(decoder)
    private val done = mutable.Map.empty[TopicPartition, (Long, Option[Long])]
    private var slice: Slice = _
    private var index = 0
    private var isStarted = false
    val latencies = new LatencyRecorder
    var rows: RecordRows = _

    def cluster: String = bundle.cluster

    def start(): Unit = {
      isStarted = true
      poller.start()
    }

    def stop(): Unit = poller.stop()

    def hasNext: Boolean = ((slice ne null) && index < slice.size) || {
      finish()
      slice = poller.take().orNull
      index = 0
      if (slice ne null) rows = rowsOf(slice.partition)
      slice ne null
    }

    def next(): ConsumerRecord[Array[Byte], Array[Byte]] = {
      val record = slice.records.get(index)
      index += 1
      latencies.add(record.timestamp)
      record
    }

    /** Notes how far the current list is read. */
    private def finish(): Unit = if ((slice ne null) && index > 0) {
      val last = slice.records.get(index - 1)
      done(slice.partition) = (last.offset + 1, Option(last.leaderEpoch.orElse(null)).map(_.toLong))
    }

    def reached(isHalfRead: Boolean, waitMs: Long): Reached = {
      if (isHalfRead && (slice ne null) && (rows eq RealTimeReader.this.rows)) index -= 1
      finish()
      val rest = if (isStarted) poller.rest(waitMs) else None
      val current =
        Option(slice).filter(s => index < s.size).map(s => s.partition -> s.records.get(index).offset)
      val unread = rest.fold(Map.empty[TopicPartition, Long]) { case (slices, _) =>
        (current ++ slices.map(s => s.partition -> s.records.get(0).offset))
          .groupMapReduce(_._1)(_._2)(math.min)
      }
      val starts = bundle.byPartition.map { case (tp, range) => tp -> range.from }
      val read = starts ++ done.map { case (tp, (offset, _)) => tp -> offset }
      // Behind the last record there may be markers of transactions, which no record shows.
      val behind = rest.fold(Map.empty[TopicPartition, Long])(_._2 -- unread.keys)
      val at = read.map { case (tp, offset) =>
        tp -> math.max(offset, math.min(behind.getOrElse(tp, offset), bundle.byPartition(tp).until))
      }
      Reached(
        Positions.from(at.iterator.map { case (tp, offset) => (tp.topic, tp.partition, offset) }),
        Positions.from(done.iterator.collect {
          case (tp, (offset, Some(epoch))) if at.get(tp).contains(offset) => (tp.topic, tp.partition, epoch)
        })
      )
    }
  }
}

private[realtime] object RealTimeReader {

  /** Rows of one cluster before the next one has its turn. */
  val Turn = 64

  private val MarginMs = 100L

  /** The interval in which the driver learns the latencies. */
  private val ReportNanos = TimeUnit.SECONDS.toNanos(1)

  /** How long the end of a task waits for its polling threads. */
  private val StopMs = 5000L

  /** The interval between two checks whether the task is killed. */
  private val StepNanos = TimeUnit.MILLISECONDS.toNanos(200)

  /** @param epochs of the records right below the positions */
  private final case class Reached(positions: Positions, epochs: Positions)
}

/**
 * Polls the partitions of one cluster for one task, on a thread of its own, and hands the records over to the thread of the task. It
 * polls no further while the task has not taken what was handed over.
 *
 * @param isRetried whether the task is a retry, which gets a new consumer
 * @param skipUnreachable whether to try again if no consumer can be opened
 * @param arrived called when there is something to take, or when the poller has failed
 * @param closed called when a range is complete while the batch runs: its end is reached, or its log is gone
 */
private[realtime] final class ClusterPoller(
    bundle: RangeBundle,
    pool: ConsumerPool,
    metrics: ReaderMetrics,
    isRetried: Boolean,
    skipUnreachable: Boolean,
    arrived: () => Unit,
    closed: () => Unit
) {
  import ClusterPoller._

  private val handed = new ArrayBlockingQueue[Slice](Handed)
  private val ended = new CountDownLatch(1)
  @volatile private var stopped = false

  /** The consumer while the poller reads with it: afterwards it may be that of another task. */
  private var polling: Option[RangeConsumer] = None
  @volatile private var error: Option[Throwable] = None
  // Written before `ended`, read after it.
  private var left = Seq.empty[Slice]
  private var positions = Map.empty[TopicPartition, Long]

  // The thread inherits the context class loader of the task, which finds the classes in the properties of the user.
  private val thread = new DaemonThreads(s"dynamic-kafka-poll-${bundle.cluster}").newThread(() => run())

  def start(): Unit = thread.start()

  /** The next records, if some have arrived. Throws if the poller has failed. */
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
   * What a poller that was stopped has fetched and not handed over, and the positions of the consumer behind all of it; None if its
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

  /** None: the poller was stopped before. */
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
          // The cluster is unreachable. This thread has nothing else to do, and the next attempt ends it if it was stopped.
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
          try consumer.follow(PollMs, metrics.lost(bundle))
          catch {
            // The driver decides when a cluster has been silent for too long.
            case _: RetriableException => Nil
            case _: WakeupException if stopped => Nil
          }
        hand(slices)
        if (!stopped && System.nanoTime() - checkedAt > CheckNanos) {
          checkedAt = System.nanoTime()
          val _ = consumer.closeRecreated(metrics.lost(bundle))
        }
        if (open.size != consumer.following.size) {
          val now = consumer.following
          val gone = open -- now
          val lostOnes = gone.count(bundle.byPartition(_).until == OffsetRange.NoEnd)
          bounded -= gone.size - lostOnes
          open = now
          // Only the last one of several drains of the cluster is reported.
          if (lostOnes > 0 || bounded == 0) closed()
        }
      }
      synchronized { polling = None }
      consumer.sleepAgain()
      positions = consumer.reached()
      sound = true
    } catch {
      // The next reader of these ranges sends the request again.
      case _: WakeupException if stopped => ()
    } finally if (sound) pool.release(consumer) else pool.discard(consumer)
  }

  private def hand(slices: Seq[Slice]): Unit = slices.foreach { slice =>
    var isHanded = false
    while (!isHanded && !stopped) isHanded = handed.offer(slice, PollMs, TimeUnit.MILLISECONDS)
    if (isHanded) arrived() else left :+= slice
  }
}

private[realtime] object ClusterPoller {
  private val log = LoggerFactory.getLogger(classOf[ClusterPoller])

  /** The number of polls whose records are queued for the task, so that it does not wait for the next one. */
  private val Handed = 4

  /** How long a poll waits for records. The end of a batch ends it at once. */
  private val PollMs = 50L

  private val RetryMs = 1000L
  private val CheckNanos = TimeUnit.MILLISECONDS.toNanos(500)
}
