package io.github.dynamickafka.source.read

import java.util.concurrent.{
  ExecutionException,
  Executor,
  ExecutorService,
  Executors,
  FutureTask,
  TimeoutException
}
import java.{util => ju}

import scala.annotation.tailrec

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.errors.InterruptException
import org.apache.kafka.common.{KafkaException, TopicPartition}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.{TaskContext, TaskKilledException}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Clock, DaemonThreads}
import io.github.dynamickafka.kafka.ClusterFailure
import io.github.dynamickafka.offset.{LogKey, Loss}

/**
 * Reads the ranges of a [[RangeBundle]] as rows. The rows of one partition are in offset order; the order of partitions
 * is that in which the cluster returns records.
 *
 * One thread reads the rows, but Spark may close the reader from another thread (SPARK-33277), so access to the
 * consumer is synchronized. Access to a single row is not. Created by the thread of the task.
 *
 * @param metrics the metrics of the task
 * @param decoder decodes the records; None: the columns of Spark's Kafka source, then `cluster` and `stream`
 * @param recordTimes gets the times and sizes of the records
 */
private[source] final class BundleReader(
    bundle: RangeBundle,
    pool: ConsumerPool,
    ahead: ReadAhead,
    metrics: ReaderMetrics,
    decoder: Option[TaskDecoder] = None,
    recordTimes: Option[TaskTimes] = None
) extends PartitionReader[InternalRow] {
  import BundleReader._

  private val rows = bundle.rows(decoder)

  private val times: Map[TopicPartition, RangeTimes] = (for {
    all <- recordTimes.iterator
    of <- bundle.ranges
    key = LogKey(bundle.cluster, of.range.topic, of.range.partition)
  } yield of.partition -> all.of(key, of.range.log.topicId)).toMap

  private val task = Option(TaskContext.get())
  private val retried = task.exists(_.attemptNumber() > 0)

  private var row: RecordRows = _
  private var current: InternalRow = _
  private var records: ju.List[ConsumerRecord[Array[Byte], Array[Byte]]] = _
  private var index = 0
  private var end = 0

  @volatile private var consumer: Option[RangeConsumer] = None
  private var sound = true
  private var finished = false
  @volatile private var closed = false
  @volatile private var waiting = false
  @volatile private var opening = false

  /** Whether a record may have several rows. */
  private val several = decoder.exists(_.several)

  override def next(): Boolean = (several && more()) || advance()

  private def more(): Boolean = {
    if (current ne null) current = row.more()
    current ne null
  }

  @tailrec
  private def advance(): Boolean =
    if (index < end || refill()) {
      current = row.of(records.get(index))
      index += 1
      (current ne null) || advance()
    } else {
      current = null
      decoder.foreach(_.finish())
      false
    }

  override def get(): InternalRow = current

  /**
   * Opens the consumer and waits for the first records, so that `next` does not block. Called before the first `next`,
   * by a thread whose completion the thread of `next` waits for.
   */
  def fetch(): Unit = { val _ = refill() }

  override def currentMetricsValues(): Array[CustomTaskMetric] = metrics.values

  override def close(): Unit = {
    closed = true
    // The thread that waits for records holds the lock. A consumer that was woken up is not reused.
    if (waiting) consumer.foreach(_.wakeUp())
    // A consumer that is being opened cannot be woken up, and a log-in may take long: the thread that opens it closes it.
    if (!opening) synchronized(giveBack())
  }

  private def giveBack(): Unit = {
    consumer.foreach(c => if (sound) pool.release(c) else pool.discard(c))
    consumer = None
  }

  private def refill(): Boolean = synchronized {
    if (closed || finished) false
    else {
      waiting = true
      sound = false
      val slice =
        try next(opened())
        catch failure
        finally waiting = false
      sound = !closed
      slice match {
        case Some(found) =>
          row = rows(found.partition)
          records = found.records
          index = 0
          end = found.size
          times.get(found.partition).foreach(_.read(found, Clock.System.currentTimeMillis()))
        case None =>
          finished = true
          // Released immediately, because Spark closes readers only at the end of the task, which has many with
          // `coalesce`.
          giveBack()
      }
      slice.isDefined
    }
  }

  private def next(from: RangeConsumer) = from.next(bundle.settings.silenceMs, lost, () => check())

  private def opened(): RangeConsumer = consumer.getOrElse {
    val made = open()
    // A close before this point had no consumer to wake up, so it must be checked here.
    check()
    // After this task has its own consumer, and before it waits for records. What follows a retried task may have been read.
    if (!retried) ahead.begin(bundle.next)
    made.begin(bundle.byPartition)
    made
  }

  private def open(): RangeConsumer = {
    val settings = bundle.consumer
    opening = true
    try {
      // A close that has not seen `opening` is seen here, and the other way round.
      if (closed) throw new TaskKilledException
      // A retried task gets a new consumer, because the state of a pooled one may have caused the failure.
      consumer = Some(
        if (retried) pool.create(settings)
        else {
          ahead.handOver(bundle, () => check())
          pool.acquire(settings, bundle.byPartition)
        }
      )
    } finally opening = false
    if (closed) {
      giveBack()
      throw new TaskKilledException
    }
    consumer.get
  }

  /** Spark interrupts the thread of a cancelled task only if configured to; otherwise the task must check. */
  private def check(): Unit = if (closed || task.exists(_.isInterrupted())) throw new TaskKilledException

  private def lost(loss: Loss): Unit = {
    if (bundle.settings.failOnDataLoss) throw loss.error
    log.warn(loss.warning)
    metrics.lost()
    recordTimes.foreach(_.lost.add(records(loss)))
  }

  /** The number of missing records of the ranges. Records that were cut off below the position had been read. */
  private def records(loss: Loss): Long = (for {
    (p, from, until) <- loss.missing
    range <- bundle.ranges.map(_.range).find(range => range.topic == loss.topic && range.partition == p)
  } yield math.max(0L, math.min(range.until, until) - from)).sum

  /** Adds the cluster to an error of the client, and redacts secrets, because the message may contain properties. */
  private val failure: PartialFunction[Throwable, Nothing] = {
    case e: InterruptException => throw e
    case e @ (_: KafkaException | _: TimeoutException) =>
      throw ClusterFailure(bundle.cluster, bundle.consumer.properties, e)
  }
}

private[source] object BundleReader {
  private val log = LoggerFactory.getLogger(classOf[BundleReader])
}

/**
 * Reads the bundles of a [[SharedTask]], one after the other. Meanwhile, the next bundles open their consumers and wait
 * for their first records on other threads, because with distant clusters these waits dominate the time.
 *
 * A reader is handed over from such a thread to the thread of the task when its first records have arrived or it has
 * failed. The task fails with this error when the turn of the bundle comes. Closing ends pending fetches.
 *
 * @param threads the executor for the fetches, up to [[SharedTaskReader.Ahead]] at a time
 */
private[source] final class SharedTaskReader(
    task: SharedTask,
    pool: ConsumerPool,
    ahead: ReadAhead,
    threads: Executor,
    decoder: Option[TaskDecoder] = None,
    recordTimes: Option[TaskTimes] = None
) extends PartitionReader[InternalRow] {
  import SharedTaskReader._

  private val metrics = new ReaderMetrics
  private val readers =
    task.bundles.map(new BundleReader(_, pool, ahead, metrics, decoder, recordTimes)).toIndexedSeq
  // Finds the classes in the properties of the user.
  private val loader = Thread.currentThread.getContextClassLoader
  private val fetches = readers.map(reader =>
    new FutureTask[Unit](() => {
      Thread.currentThread.setContextClassLoader(loader)
      reader.fetch()
    })
  )
  private var begun = 0
  private var current = -1
  @volatile private var closed = false

  override def next(): Boolean = (current >= 0 && readers(current).next()) || advance()

  override def get(): InternalRow = readers(current).get()

  override def currentMetricsValues(): Array[CustomTaskMetric] = metrics.values

  override def close(): Unit = {
    closed = true
    readers.foreach(_.close())
  }

  @tailrec
  private def advance(): Boolean =
    if (closed || current + 1 == readers.size) false
    else {
      current += 1
      val until = math.min(readers.size, current + 1 + Ahead)
      fetches.slice(begun, until).foreach(threads.execute(_))
      begun = until
      // Throws if the task is interrupted; Spark then closes this reader.
      try fetches(current).get()
      catch { case e: ExecutionException => throw e.getCause }
      readers(current).next() || advance()
    }
}

private[source] object SharedTaskReader {

  /**
   * The number of bundles that are fetched while another one is read. Each may use as much memory as a separate task.
   */
  val Ahead = 7

  /** The threads of this JVM; each terminates after a minute without work. */
  lazy val threads: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("dynamic-kafka-fetch"))
}
