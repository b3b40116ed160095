package io.github.dynamickafka.catalog

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/** The properties of a table, from the metadata of its stream: no property of Kafka's clients, which may be secret. Pure. */
private[dynamickafka] object StreamProperties {

  def of(stream: KafkaStream, format: String): Map[String, String] = {
    val clusters = stream.getClusterMetadataMap.asScala.toSeq
    Map(
      "provider" -> "dynamic-kafka",
      "format" -> format,
      "clusters" -> clusters.map(_._1).mkString(",")
    ) ++ clusters.flatMap { case (id, cluster) =>
      Seq(s"cluster.$id.state" -> cluster.state, s"cluster.$id.topics" -> topics(cluster).mkString(","))
    }
  }

  /** The topics, or the pattern of their names. */
  def topics(cluster: ClusterMetadata): Seq[String] =
    Option(cluster.topicPattern).map(Seq(_)).getOrElse(
      (cluster.getTopics.asScala ++ cluster.getPartitions.asScala.keys).toSeq.sorted
    )
}
