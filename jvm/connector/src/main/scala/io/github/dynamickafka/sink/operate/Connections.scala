package io.github.dynamickafka.sink.operate

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.{ClusterOptions, ClusterScope}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.sink.commit.Clusters

/** The clusters of streams, with the properties that a query has for them without options of its own. */
private[operate] object Connections {

  /** How long commits are retried: these clusters have just answered. */
  val CommitTimeoutMs = 30000L

  /** @param origin where the streams are from, for errors */
  def of(streams: Seq[KafkaStream], origin: String, options: ClusterOptions, timeoutMs: Long): Clusters = {
    val found = streams.flatMap(_.getClusterMetadataMap.asScala.toSeq)
      .map { case (id, cluster) => id -> cluster.getProperties.asScala.toMap }.distinct
    found.groupBy(_._1).collectFirst { case (id, several) if several.size > 1 => id }.foreach(id =>
      throw Errors.metadataInvalid(origin, s"cluster '$id' has different properties in two streams")
    )
    val scope = new ClusterScope(options, found.map(_._1).toSet)
    val clusters = new Clusters(
      (id, known) => new ClusterScope(options, Set(id)).producer(id, known),
      timeoutMs,
      CommitTimeoutMs
    )
    clusters.set(found.map { case (id, properties) => id -> scope.producer(id, properties) }.toMap)
    clusters
  }
}
