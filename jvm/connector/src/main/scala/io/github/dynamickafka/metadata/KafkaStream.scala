package io.github.dynamickafka.metadata

import java.{util => ju}

import scala.jdk.CollectionConverters._

/**
 * A logical stream and the clusters it lives on, as the metadata service tells it. Immutable.
 *
 * @param streamId the name that users subscribe to
 * @param clusterMetadataMap by cluster id, in the service's order
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
