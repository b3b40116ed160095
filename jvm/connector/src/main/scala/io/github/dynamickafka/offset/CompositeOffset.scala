package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.streaming.Offset

/**
 * Position in all clusters at once: what Spark writes into its offset log. Everything that is needed to plan
 * a batch again is in the offsets at its two ends.
 *
 * An offset is 1 + the last one that was read, as in Spark's Kafka source: the next one to read.
 *
 * @param clusters by cluster id, where reading is
 * @param entered positions at which partitions enter (or return, or are set anew after lost records) with the
 *                batch that ends here. They win over the start of the batch
 * @param retained positions of what has left the topology
 * @param draining last targets of what is read to its end and then left
 * @param ends where reading ends for good, by cluster and topic
 */
private[dynamickafka] final case class CompositeOffset(
    clusters: SortedMap[String, Positions],
    entered: SortedMap[String, Positions] = SortedMap.empty,
    retained: SortedMap[String, Retained] = SortedMap.empty,
    draining: SortedMap[String, Positions] = SortedMap.empty,
    ends: StoppingOffsets.ByCluster = StoppingOffsets.none
) extends Offset {

  /** Canonical: equal offsets give equal text. Spark compares offsets by it. */
  override lazy val json: String = CompositeOffsetJson.write(this)

  def position(cluster: String): Positions = clusters.getOrElse(cluster, Positions.empty)

  /** True where a batch that ends here instead of at `start` would change nothing that lasts. */
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
 * Positions of topics of one cluster that have left the topology.
 *
 * @param since when the last of them left, epoch milliseconds; the retention counts from here
 * @param drained topics that left because they were read to their drain target while the metadata still
 *                names them as draining: they stay away until it says something else, also when
 *                their positions have been forgotten
 */
private[dynamickafka] final case class Retained(
    since: Long,
    positions: Positions,
    drained: Set[String] = Set.empty
)
