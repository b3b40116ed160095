package io.github.dynamickafka.source.realtime

import java.util.concurrent.{Semaphore, TimeUnit}

import scala.collection.immutable.SortedMap
import scala.collection.mutable
import scala.concurrent.ExecutionContext

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.{TaskContext, TaskKilledException}

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.source.read.{
  ConsumerPool,
  RangeBundle,
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
 */
private[source] final class RealTimeReader(
    task: RealTimeTask,
    pool: ConsumerPool,
    decoder: Option[TaskDecoder]
) {
  import RealTimeReader._

  private val context = Option(TaskContext.get())
  private val arrived = new Semaphore(0)
  private val metrics = new ReaderMetrics
  @volatile private var batchEnded = false
  @volatile private var closed = false
  private var started = false
  private val lanes = task.bundles.map(new Lane(_)).toIndexedSeq
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

  /** Tells the driver the latencies, unless it has learned others a moment ago. */
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
    lanes.foreach(_.stop())
    val until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(StopMs)
    val reached = lanes.map(lane =>
      lane.cluster -> lane.reached(isHalfRead, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime()))
    )
    def of(positions: Reached => Positions) = SortedMap.from(reached.map { case (id, r) =>
      id -> positions(r)
    })
    TaskPositions(of(_.positions), of(_.epochs), takeLatencies())
  }

  /** What was not reported before, by cluster. */
  private def takeLatencies(): Seq[(String, Array[Long])] =
    lanes.map(lane => lane.cluster -> lane.latencies.take()).filter(_._2.nonEmpty)

  def close(): Unit = {
    closed = true
    lanes.foreach(_.stop())
  }

  private def start(): Unit = {
    started = true
    val ended = BatchEnds.await(task.batch)
    ended.foreach { _ =>
      batchEnded = true
      arrived.release()
    }(ExecutionContext.parasitic)
    lanes.foreach(_.start())
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
    while (!isTaken && looked <= lanes.size) {
      val lane = if (lanes.isEmpty) null else lanes(turn)
      if ((lane ne null) && taken < Turn && lane.hasNext) {
        taken += 1
        isTaken = true
        rows = lane.rows
        row = rows.of(lane.next())
      } else {
        looked += 1
        taken = 0
        if (lanes.nonEmpty) turn = (turn + 1) % lanes.size
      }
    }
    isTaken
  }

  private final class Lane(bundle: RangeBundle) {
    private val lane = new ClusterLane(
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
      lane.start()
    }

    def stop(): Unit = lane.stop()

    def hasNext: Boolean = ((slice ne null) && index < slice.size) || {
      finish()
      slice = lane.take().orNull
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
      val rest = if (isStarted) lane.rest(waitMs) else None
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
