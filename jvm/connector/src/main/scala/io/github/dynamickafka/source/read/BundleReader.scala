package io.github.dynamickafka.source.read

import java.util.concurrent.TimeoutException
import java.{util => ju}

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.errors.InterruptException
import org.apache.kafka.common.{KafkaException, TopicPartition}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.{TaskContext, TaskKilledException}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.ClusterFailure

/**
 * Reads the ranges of a [[RangeBundle]] to rows. Rows of one partition come in order; those of several come in the order
 * in which the cluster gives them.
 *
 * Rows are taken by one thread, but Spark may close the reader from another one (SPARK-33277), so whatever touches the
 * consumer is under a lock; the way of each single row is not. Made by the task's thread.
 *
 * @param metrics of the task
 */
private[source] final class BundleReader(bundle: RangeBundle, pool: ConsumerPool, metrics: ReaderMetrics)
    extends PartitionReader[InternalRow] {
  import BundleReader._

  private val rows: Map[TopicPartition, RecordRow] = {
    val cluster = UTF8String.fromString(bundle.cluster)
    bundle.ranges.map { case StreamRange(stream, range) =>
      new TopicPartition(range.topic, range.partition) -> new RecordRow(
        bundle.settings.includeHeaders,
        UTF8String.fromString(range.topic),
        cluster,
        UTF8String.fromString(stream)
      )
    }.toMap
  }
  private val task = Option(TaskContext.get())

  private var row: RecordRow = _
  private var records: ju.List[ConsumerRecord[Array[Byte], Array[Byte]]] = _
  private var index = 0
  private var end = 0

  @volatile private var consumer: Option[RangeConsumer] = None
  private var sound = true
  private var finished = false
  @volatile private var closed = false
  @volatile private var waiting = false

  override def next(): Boolean =
    if (index < end || refill()) {
      row.of(records.get(index))
      index += 1
      true
    } else false

  override def get(): InternalRow = row

  /**
   * Opens the consumer and waits for the first records, so that `next` need not. Called before the first `next`, and by
   * any thread that the one of `next` waits for.
   */
  def fetch(): Unit = {
    refill()
    ()
  }

  override def currentMetricsValues(): Array[CustomTaskMetric] = metrics.values

  override def close(): Unit = {
    closed = true
    // Whoever waits for records has the lock; a consumer that was woken is not used again.
    if (waiting) consumer.foreach(_.wakeUp())
    synchronized(giveBack())
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
        case None =>
          finished = true
          // At once: Spark closes the readers of a task, of which `coalesce` makes many, when the task ends.
          giveBack()
      }
      slice.isDefined
    }
  }

  private def next(from: RangeConsumer) = from.next(bundle.settings.silenceMs, lost, () => check())

  private def opened(): RangeConsumer = consumer.getOrElse {
    // A task that is tried again gets a new one: the state of others may be why it failed.
    val settings = bundle.consumer
    val made =
      if (task.exists(_.attemptNumber() > 0)) pool.create(settings) else pool.acquire(settings, rows.keySet)
    consumer = Some(made)
    // Whoever closes it from now on finds a consumer to wake; who did so before has found none.
    check()
    made.begin(bundle.ranges.map { case StreamRange(_, r) =>
      new TopicPartition(r.topic, r.partition) -> (r.from -> r.until)
    }.toMap)
    made
  }

  /** Spark interrupts a task's thread only where it was told to; otherwise it has to be asked. */
  private def check(): Unit = if (closed || task.exists(_.isInterrupted())) throw new TaskKilledException

  private def lost(what: Lost): Unit = {
    val loss = what.in(bundle.cluster)
    if (bundle.settings.failOnDataLoss) throw Errors.dataLoss(loss.cluster, loss.topic, loss.text)
    log.warn(
      "Kafka cluster '{}', topic '{}': {}; failOnDataLoss is false, so the query goes on",
      loss.cluster,
      loss.topic,
      loss.text
    )
    metrics.lost()
  }

  /** Which of the clusters it is about, and no secret: a client that cannot be made shows what it was given. */
  private val failure: PartialFunction[Throwable, Nothing] = {
    case e: InterruptException => throw e
    case e @ (_: KafkaException | _: TimeoutException) =>
      throw ClusterFailure(bundle.cluster, bundle.consumer.properties, e)
  }
}

private[source] object BundleReader {
  private val log = LoggerFactory.getLogger(classOf[BundleReader])
}
