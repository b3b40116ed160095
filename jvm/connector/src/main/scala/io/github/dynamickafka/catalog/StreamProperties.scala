package io.github.dynamickafka.catalog

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/** The properties of a table, from the metadata of its stream: no property of Kafka's clients, which may be secret. Pure. */
private[catalog] object StreamProperties {

  def of(stream: KafkaStream, format: String): Map[String, String] = {
    val clusters = stream.getClusterMetadataMap.asScala.toSeq
    Map(
      "provider" -> "dynamic-kafka",
      "format" -> format,
      "clusters" -> clusters.map(_._1).mkString(",")
    ) ++ clusters.flatMap { case (id, cluster) =>
      Seq(s"cluster.$id.state" -> cluster.state, s"cluster.$id.topics" -> topics(cluster))
    }
  }

  /** The topics, or the pattern of their names. */
  private def topics(cluster: ClusterMetadata): String =
    Option(cluster.topicPattern).getOrElse(
      (cluster.getTopics.asScala ++ cluster.getPartitions.asScala.keys).toSeq.sorted.mkString(",")
    )
}
