package io.github.dynamickafka.source.read

import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange

/** A range of one partition, and the stream that it is read for. */
private[source] final case class StreamRange(stream: String, range: OffsetRange)

/**
 * How records are read, the same in all tasks of a query.
 *
 * @param silenceMs how long a cluster may give nothing before the task fails
 */
private[source] final case class ReadSettings(
    includeHeaders: Boolean,
    failOnDataLoss: Boolean,
    silenceMs: Long
)

/**
 * What one task reads, alone or with others in a [[SharedTask]]: ranges of one cluster, with one consumer, at most one
 * of each partition.
 *
 * @param locations where Spark should run it, if it can
 */
private[source] final case class RangeBundle(
    consumer: ConsumerSettings,
    ranges: Seq[StreamRange],
    settings: ReadSettings,
    locations: Seq[String]
) extends InputPartition {

  def cluster: String = consumer.cluster

  /** Records, as far as offsets tell. */
  def size: Long = ranges.iterator.map(_.range.size).sum

  override def preferredLocations(): Array[String] = locations.toArray

  override def toString: String =
    s"RangeBundle($cluster: ${ranges.map(r => s"${r.stream} ${r.range}").mkString(", ")})"
}

/** Bundles that one task reads, of several clusters as a rule. All have the same `locations`. */
private[source] final case class SharedTask(bundles: Seq[RangeBundle]) extends InputPartition {

  override def preferredLocations(): Array[String] = bundles.head.preferredLocations()

  override def toString: String = bundles.mkString("SharedTask(", ", ", ")")
}
