package io.github.dynamickafka.admin

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.admin.checkpoint.{OffsetLog, SourceId}
import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.source.checkpoint.{RememberedTopology, SourceCheckpoint}
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterConfigs}
import io.github.dynamickafka.topology.TopologyCluster

/**
 * How the clusters of a query are reached: as the metadata and the settings of the catalog say, and otherwise as the checkpoint
 * says, which has no secrets. Thread-safe.
 */
private[admin] final class QueryClusters(
    catalog: StreamCatalog,
    log: OffsetLog,
    streams: Seq[KafkaStream]
) {
  private type Properties = Map[String, String]

  private val described: Map[String, Properties] = streams.flatMap(_.getClusterMetadataMap.asScala)
    .map { case (id, cluster) => id -> cluster.getProperties.asScala.toMap }.toMap
  private var read = Map.empty[SourceId, RememberedTopology]

  /** What the source has stored of the clusters in its offsets. */
  def remembered(source: SourceId): RememberedTopology = synchronized {
    val found = read.getOrElse(
      source,
      new SourceCheckpoint(log.folder(source).toString, catalog.hadoop).topology
        .getOrElse(RememberedTopology.empty)
    )
    read += source -> found
    found
  }

  /**
   * The reason if there is no address, or credentials are missing.
   *
   * @param options with the settings of the catalog
   */
  def config(source: SourceId, id: String, options: SourceOptions): Either[String, ClusterConfig] = {
    def resolve(properties: Properties) = ClusterConfigs(options, described.keySet + id)(id, properties)
    val stored =
      Seq(remembered(source).current, remembered(source).former).flatMap(_.clusters.get(id)).headOption
    val properties = (described.get(id), stored) match {
      case (Some(found), _) => Right(found)
      case (None, Some(cluster)) => complete(cluster, resolve(cluster.properties).properties.client.keySet)
      case (None, None) => Left(s"neither the metadata nor the checkpoint has cluster '$id'")
    }
    properties.map(resolve).filterOrElse(
      _.bootstrapServers.nonEmpty,
      "the checkpoint has no address of this cluster, because the metadata has a reference instead"
    )
  }

  private def complete(stored: TopologyCluster, set: collection.Set[String]): Either[String, Properties] = {
    val missing = stored.withheld.filterNot(name => set(KafkaProperties.canonical(name)))
    Either.cond(
      missing.isEmpty,
      stored.properties,
      s"the cluster needs credentials (${missing.toSeq.sorted.mkString(", ")}), which checkpoints do not contain"
    )
  }
}
