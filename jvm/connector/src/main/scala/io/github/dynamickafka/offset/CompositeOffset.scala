package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.streaming.Offset

/**
 * The positions in all clusters, which Spark writes to its offset log. The start and end offsets of a batch contain
 * everything that is required to plan the batch again.
 *
 * A position is the next offset to read, which is 1 + the last offset that was read, as in Spark's Kafka source.
 *
 * @param clusters the current positions by cluster id
 * @param entered positions at which partitions enter in the batch that ends here (or return, or are reset after lost
 *                records). They take precedence over the start offset of the batch
 * @param retained positions of clusters and topics that have left the topology
 * @param draining drain targets: the offsets up to which draining topics are read
 * @param ends stopping offsets by cluster and topic
 */
private[dynamickafka] final case class CompositeOffset(
    clusters: SortedMap[String, Positions],
    entered: SortedMap[String, Positions] = SortedMap.empty,
    retained: SortedMap[String, Retained] = SortedMap.empty,
    draining: SortedMap[String, Positions] = SortedMap.empty,
    ends: StoppingOffsets.ByCluster = StoppingOffsets.none
) extends Offset {

  /** Canonical, so that equal offsets have equal text, because Spark compares offsets by their text. */
  override lazy val json: String = CompositeOffsetJson.write(this)

  def position(cluster: String): Positions = clusters.getOrElse(cluster, Positions.empty)

  /** Whether a batch from `start` to this offset would read nothing and change no persistent state. */
  def sameAs(start: CompositeOffset): Boolean =
    entered.isEmpty && clusters == start.clusters && retained == start.retained &&
      draining == start.draining && ends == start.ends

  def endsOf(cluster: String): StoppingOffsets.ByTopic =
    ends.getOrElse(cluster, SortedMap.empty[String, TopicEnds])
}

private[dynamickafka] object CompositeOffset {
  val Version = 1
  val empty: CompositeOffset = CompositeOffset(SortedMap.empty[String, Positions])
}

/**
 * The positions of topics of one cluster that have left the topology.
 *
 * @param since when the last of them left, in epoch milliseconds; the retention time starts here
 * @param drained topics that left because they reached their drain target, while the metadata still lists them as
 *                draining. They are not read again until their state in the metadata changes, even if their positions
 *                have been dropped
 */
private[dynamickafka] final case class Retained(
    since: Long,
    positions: Positions,
    drained: Set[String] = Set.empty
)
