package io.github.dynamickafka.metadata

import java.{util => ju}

/** Shorthands for streams. */
private[dynamickafka] object Streams {

  def cluster(topics: String*): ClusterMetadata = cluster(Map.empty[String, String], topics: _*)

  def cluster(properties: Map[String, String], topics: String*): ClusterMetadata =
    ClusterMetadata(topics, Map("bootstrap.servers" -> "b:9092") ++ properties)

  def stated(state: String, starting: String, topics: String*): ClusterMetadata =
    ClusterMetadata(topics, Map("bootstrap.servers" -> "b:9092"), starting, state = state)

  def stream(id: String, clusters: (String, ClusterMetadata)*): KafkaStream = {
    val map = new ju.LinkedHashMap[String, ClusterMetadata]
    clusters.foreach { case (cluster, metadata) => map.put(cluster, metadata) }
    new KafkaStream(id, map)
  }

  def byId(streams: KafkaStream*): Map[String, KafkaStream] = streams.map(s => s.streamId -> s).toMap
}
