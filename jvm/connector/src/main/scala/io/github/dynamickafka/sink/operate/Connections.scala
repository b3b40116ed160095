package io.github.dynamickafka.sink.operate

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.{ClusterOptions, ClusterScope, SinkOptionsParser}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.registry.MetadataServices
import io.github.dynamickafka.sink.commit.Clusters

/** The clusters of streams, with the properties that a query has for them without options of its own. */
private[operate] object Connections {

  /** How long commits are retried: these clusters have just answered. */
  val CommitTimeoutMs = 30000L

  /** @param timeoutMs the time limit of a request */
  def of(file: String, timeoutMs: Long, hadoop: Configuration): Clusters = {
    val options = SinkOptionsParser.parse(new CaseInsensitiveStringMap(Map(
      "metadataService" -> "file",
      "metadataService.path" -> file,
      "clusterRequestTimeoutMs" -> timeoutMs.toString
    ).asJava))
    val streams = MetadataServices.create(options.service, hadoop).getAllStreams().asScala.toSeq
    of(streams, s"file $file", options.clusters, timeoutMs)
  }

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
