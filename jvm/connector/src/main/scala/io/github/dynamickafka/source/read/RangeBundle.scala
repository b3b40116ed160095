package io.github.dynamickafka.source.read

import org.apache.kafka.common.TopicPartition
import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange

/** A range of one partition, and the stream of its topic. */
private[source] final case class StreamRange(stream: String, range: OffsetRange)

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

  def byPartition: RangeConsumer.Ranges =
    ranges.map { case StreamRange(_, r) => new TopicPartition(r.topic, r.partition) -> r }.toMap

  /** The number of records, calculated from offsets. */
  def size: Long = ranges.iterator.map(_.range.size).sum

  override def preferredLocations(): Array[String] = locations.toArray

  override def toString: String =
    s"RangeBundle($cluster: ${ranges.map(r => s"${r.stream} ${r.range}").mkString(", ")})"
}

/** Several bundles, usually of different clusters, that one task reads. All of them have the same `locations`. */
private[source] final case class SharedTask(bundles: Seq[RangeBundle]) extends InputPartition {

  override def preferredLocations(): Array[String] = bundles.head.preferredLocations()

  override def toString: String = bundles.mkString("SharedTask(", ", ", ")")
}
