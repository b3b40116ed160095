package io.github.dynamickafka.metadata

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.OffsetsPolicy

/**
 * What the subscription resolves to at one moment. Immutable; two equal topologies ask for the same work.
 *
 * @param clusters by cluster id
 */
private[dynamickafka] final case class Topology(clusters: SortedMap[String, TopologyCluster])

private[dynamickafka] object Topology {
  val empty: Topology = Topology(SortedMap.empty)
}

/**
 * @param topics by topic name; never empty
 * @param properties Kafka client properties as the metadata service gave them, without the `kafka.` prefix.
 *                   They may hold secrets: `toString` shows the bootstrap servers only
 */
private[dynamickafka] final case class TopologyCluster(
    id: String,
    topics: SortedMap[String, TopologyTopic],
    properties: Map[String, String]
) {
  def bootstrapServers: String = properties.getOrElse("bootstrap.servers", "")

  override def toString: String =
    s"TopologyCluster($id, $bootstrapServers, ${topics.map { case (t, i) => s"$t: $i" }.mkString(", ")})"
}

/**
 * @param stream value of the `stream` column: the first subscribed stream id, in sorted order, that names
 *               this (cluster, topic)
 * @param draining true where every stream that names this (cluster, topic) has it draining
 * @param startingOffsets the metadata's own value, which wins over the query's options but not over
 *                        `cluster.<id>.startingOffsets`
 */
private[dynamickafka] final case class TopologyTopic(
    stream: String,
    draining: Boolean = false,
    startingOffsets: Option[OffsetsPolicy] = None,
    stoppingOffsets: Option[OffsetsPolicy] = None
)
