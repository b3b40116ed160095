package io.github.dynamickafka.admin

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerConfig

import io.github.dynamickafka.source.checkpoint.{MigratedPositions, RememberedTopology, SourceId, SparkCheckpoint}
import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.catalog.StreamProperties
import io.github.dynamickafka.config.{SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterConfigs}
import io.github.dynamickafka.topology.TopologyCluster

/**
 * How the clusters of a query are reached: as the metadata and the settings of the catalog say, and otherwise as the checkpoint
 * says, which has no secrets. Thread-safe.
 */
private[admin] final class QueryClusters(context: Context, log: SparkCheckpoint, streams: Seq[KafkaStream]) {
  private type Properties = Map[String, String]

  def this(context: Context, log: SparkCheckpoint) = this(context, log, context.streams())

  private val described: Map[String, Properties] = streams.flatMap(_.getClusterMetadataMap.asScala)
    .map { case (id, cluster) => id -> cluster.getProperties.asScala.toMap }.toMap
  private var read = Map.empty[SourceId, RememberedTopology]

  /** What the source has stored of the clusters in its offsets. */
  def remembered(source: SourceId): RememberedTopology = synchronized {
    val found = read.getOrElse(
      source,
      log.source(source).topology
        .getOrElse(RememberedTopology.empty)
    )
    read += source -> found
    found
  }

  /** The settings of the catalog, and what decides up to which offset the query reads. */
  def reading(source: SourceId): SourceOptions =
    context.catalog.readingAs(
      remembered(source).options.filter { case (name, _) =>
        name.endsWith(ConsumerConfig.ISOLATION_LEVEL_CONFIG)
      }.updated(SourceOptionSpecs.StreamIds.name, "-")
    )

  /** The reason if there is no address, or credentials are missing. */
  def config(source: SourceId, id: String, options: SourceOptions): Either[String, ClusterConfig] = {
    def resolve(properties: Properties) = ClusterConfigs(options, described.keySet + id)(id, properties)
    val stored =
      Seq(remembered(source).current, remembered(source).former).flatMap(_.clusters.get(id)).headOption
    val properties = (described.get(id), stored) match {
      case (Some(found), _) => Right(found)
      case (None, Some(cluster)) => complete(cluster, resolve(Map.empty).properties.client.keySet)
      case (None, None) => Left(s"neither the metadata nor the checkpoint has cluster '$id'")
    }
    properties.map(resolve).filterOrElse(
      _.bootstrapServers.nonEmpty,
      "the checkpoint has no address of this cluster, because the metadata has a reference instead"
    )
  }

  /** @param set the names of properties that the settings of the catalog have */
  private def complete(stored: TopologyCluster, set: collection.Set[String]): Either[String, Properties] = {
    def missing(names: Iterable[String]) =
      names.filterNot(name => set(KafkaProperties.canonical(name))).toSeq.sorted.mkString(", ")
    // Whoever writes the checkpoint would get what references stand for on this machine, or a file that a property names.
    val references = missing(stored.properties.collect { case (name, value) if value.contains("${") => name })
    val withheld = missing(stored.withheld)
    if (withheld.nonEmpty)
      Left(s"the cluster needs credentials ($withheld), which checkpoints do not contain")
    else if (references.nonEmpty) Left(
      s"the checkpoint has references ($references) for this cluster, which are resolved only if the metadata has them"
    )
    else Right(Redaction.storable(stored.properties))
  }
}

private[admin] object QueryClusters {

  /** What the first start with a checkpoint of `migrate` would miss in the metadata. */
  def migrated(start: CompositeOffset, streams: Seq[KafkaStream]): MigratedPositions = {
    val entries = streams.flatMap(_.getClusterMetadataMap.asScala).groupMap(_._1)(_._2)
    MigratedPositions(
      start,
      entries.map { case (id, of) => id -> ((topic: String) => of.exists(selects(_, topic))) },
      entries.values.flatten.flatMap(e => Option(e.replaces)).toSet
    )
  }

  private def selects(entry: ClusterMetadata, topic: String) =
    Option(entry.topicPattern).fold(StreamProperties.topics(entry).contains(topic))(topic.matches(_))
}
