package io.github.dynamickafka.source.read

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
 * Ranges of one cluster for one consumer, with at most one range for each partition. A task reads one bundle, or several as
 * a [[SharedTask]].
 *
 * @param locations the preferred locations of the task
 */
private[source] final case class RangeBundle(
    consumer: ConsumerSettings,
    ranges: Seq[StreamRange],
    settings: ReadSettings,
    locations: Seq[String]
) extends InputPartition {

  def cluster: String = consumer.cluster

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
