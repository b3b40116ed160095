package io.github.dynamickafka.metadata

import java.{util => ju}

import scala.jdk.CollectionConverters._

/**
 * A logical stream and its metadata on each of its clusters, as returned by the metadata service. Immutable. Has the
 * names of Flink's `KafkaStream` (FLIP-246).
 *
 * @param streamId the id that users subscribe to
 * @param clusterMetadataMap the metadata by cluster id. The iteration order determines the first cluster for
 *                           `clusterRouting=first`
 */
final class KafkaStream(val streamId: String, clusterMetadataMap: ju.Map[String, ClusterMetadata])
    extends Serializable {

  private val clusters = new ju.LinkedHashMap[String, ClusterMetadata](clusterMetadataMap)

  def getStreamId: String = streamId
  def getClusterMetadataMap: ju.Map[String, ClusterMetadata] = ju.Collections.unmodifiableMap(clusters)

  override def equals(other: Any): Boolean = other match {
    case that: KafkaStream => streamId == that.streamId && clusters == that.getClusterMetadataMap
    case _ => false
  }
  override def hashCode: Int = ju.Objects.hash(streamId, clusters)
  override def toString: String =
    s"KafkaStream($streamId, ${clusters.asScala.map { case (id, c) => s"$id -> $c" }.mkString(", ")})"
}
