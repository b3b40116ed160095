package io.github.dynamickafka.source.read

import java.util.concurrent.atomic.AtomicLong

import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator
import org.slf4j.LoggerFactory

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.{Loss, OffsetRange}

/** A range of one partition, and the stream of its topic. */
private[source] final case class StreamRange(stream: String, range: OffsetRange) {
  def partition: TopicPartition = new TopicPartition(range.topic, range.partition)
}

/**
 * The settings of all tasks of a query.
 *
 * @param silenceMs how long a cluster may return no data before the task fails, in milliseconds
 */
private[source] final case class ReadSettings(
    includeHeaders: Boolean,
    failOnDataLoss: Boolean,
    silenceMs: Long
)

/**
 * The offset ranges of one consumer. All partitions are of the same Kafka cluster, and each of them has one range. A task reads
 * one bundle, or several as a [[SharedTask]].
 *
 * @param locations the preferred locations of the task
 * @param next bundles of tasks that are likely to start on the same executor after this one, for [[ReadAhead]]; they name
 *             none themselves
 */
private[source] final case class RangeBundle(
    consumer: ConsumerSettings,
    ranges: Seq[StreamRange],
    settings: ReadSettings,
    locations: Seq[String],
    next: Seq[RangeBundle] = Nil
) extends InputPartition {

  def cluster: String = consumer.cluster

  def byPartition: RangeConsumer.Ranges = ranges.map(of => of.partition -> of.range).toMap

  /** @param decoder None: the columns of Spark's Kafka source, then `cluster` and `stream` */
  def rows(decoder: Option[TaskDecoder]): Map[TopicPartition, RecordRows] = ranges.map { of =>
    def plain = new RecordRow(
      settings.includeHeaders,
      UTF8String.fromString(of.range.topic),
      UTF8String.fromString(cluster),
      UTF8String.fromString(of.stream)
    )
    of.partition -> decoder.fold[RecordRows](plain)(_.rows(cluster, of.stream))
  }.toMap

  /** The number of records, calculated from offsets. */
  def size: Long = ranges.iterator.map(_.range.size).sum

  /** The number of missing records of the ranges. Records that were cut off below the position had been read. */
  def missing(loss: Loss): Long = (for {
    (p, from, until) <- loss.missing
    range <- ranges.map(_.range).find(range => range.topic == loss.topic && range.partition == p)
  } yield math.max(0L, math.min(range.until, until) - from)).sum

  override def preferredLocations(): Array[String] = locations.toArray

  override def toString: String =
    s"RangeBundle($cluster: ${ranges.map(r => s"${r.stream} ${r.range}").mkString(", ")})"
}

/** Several bundles, usually of different clusters, that one task reads. All of them have the same `locations`. */
private[source] final case class SharedTask(bundles: Seq[RangeBundle]) extends InputPartition {

  override def preferredLocations(): Array[String] = bundles.head.preferredLocations()

  override def toString: String = bundles.mkString("SharedTask(", ", ", ")")
}

/**
 * What a task does about lost records: it fails, or logs and counts the loss and continues. Has the metric names of Spark's Kafka reader.
 * Thread-safe.
 *
 * @param records counts the records
 */
private[source] final class ReaderMetrics(records: Option[LongAccumulator] = None) {
  private val losses = new AtomicLong

  def lost(bundle: RangeBundle)(loss: Loss): Unit = {
    if (bundle.settings.failOnDataLoss) throw loss.error
    ReaderMetrics.log.warn(loss.warning)
    val _ = losses.incrementAndGet()
    records.foreach(all => all.synchronized(all.add(bundle.missing(loss))))
  }

  /** Both metrics of Spark's reader have the same value: this reader counts every loss alike. */
  def values: Array[CustomTaskMetric] =
    Array("offsetOutOfRange", "dataLoss").map(ReaderMetrics.Metric(_, losses.get))
}

private[source] object ReaderMetrics {
  private val log = LoggerFactory.getLogger(classOf[ReaderMetrics])

  private final case class Metric(name: String, value: Long) extends CustomTaskMetric
}
