package io.github.dynamickafka.source

import io.github.dynamickafka.config.{ClusterProperties, OptionSpec, SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{Topology, TopologyTopic}
import io.github.dynamickafka.offset.OffsetsPolicy

/** Merges options and metadata of each cluster, with the precedence of [[ClusterProperties]]. */
private[source] final class ClusterConfigs(options: SourceOptions) {
  import ClusterConfigs._

  /**
   * @param known the ids of all known clusters, which determine the cluster of a `cluster.<id>.` option
   * @param properties the properties of the cluster in the metadata or the checkpoint
   */
  def apply(id: String, known: Set[String], properties: Map[String, String]): ClusterConfig = {
    val effective = ClusterProperties.resolve(options.clusters, id, known, properties)
    ClusterConfig(
      effective,
      reader = Map(
        "failOnDataLoss" -> options.failOnDataLoss.toString,
        "includeHeaders" -> options.includeHeaders.toString
      ),
      committedGroup = options.offsets.commitGroupId.orElse(effective.groupId),
      requestTimeoutMs = options.clusters.requestTimeoutMs
    )
  }

  def all(topology: Topology): Map[String, ClusterConfig] =
    topology.clusters.map { case (id, c) => id -> apply(id, topology.clusters.keySet.toSet, c.properties) }

  /** The start position of a topic at the first start of the query. */
  def starting(id: String, known: Set[String], topic: TopologyTopic): OffsetsPolicy =
    own(id, known, StartingForms, topic.startingOffsets)
      .getOrElse(ofOneCluster(SourceOptionSpecs.StartingOffsets, options.offsets.starting, known))

  /**
   * The start position of a topic that is added later.
   *
   * @param clusterIsKnown whether other topics of the cluster are or were read
   * @param unresolvedAtStart whether the cluster was in the metadata at the first start of the query, but unreachable
   */
  def entering(
      id: String,
      known: Set[String],
      topic: TopologyTopic,
      clusterIsKnown: Boolean,
      unresolvedAtStart: Boolean
  ): OffsetsPolicy =
    own(id, known, StartingForms, topic.startingOffsets).getOrElse {
      if (clusterIsKnown) options.offsets.newTopic
      else if (unresolvedAtStart)
        ofOneCluster(SourceOptionSpecs.StartingOffsets, options.offsets.starting, known)
      else options.offsets.newCluster
    }

  /** The stopping position of a topic; None: no stopping position. */
  def ending(id: String, known: Set[String], topic: TopologyTopic): Option[OffsetsPolicy] =
    own(id, known, EndingForms, topic.stoppingOffsets).orElse(options.offsets.ending)

  /** Rejects stopping offsets without cluster level if there are several clusters. Only for a first start. */
  def checkEnding(known: Set[String]): Unit =
    options.offsets.ending.foreach(ofOneCluster(SourceOptionSpecs.EndingOffsets, _, known))

  def maxOffsetsPerTrigger(id: String, known: Set[String]): Option[Long] =
    ClusterProperties.connectorValue(options.clusters, id, known, SourceOptionSpecs.MaxOffsetsPerTrigger)

  private def ofOneCluster(spec: OptionSpec[_], policy: OffsetsPolicy, known: Set[String]): OffsetsPolicy = {
    val byTopic = policy match {
      case OffsetsPolicy.Exact(all) => all.contains(OffsetsPolicy.AnyCluster)
      case OffsetsPolicy.TimestampByPartition(all) => all.contains(OffsetsPolicy.AnyCluster)
      case _ => false
    }
    if (byTopic && known.size > 1) {
      throw Errors.invalidOption(
        spec.name,
        "{topic: ...}",
        s"the streams are on several clusters (${known.toSeq.sorted.mkString(", ")}), so the JSON requires a cluster level: " +
          """{"<cluster id>": {"<topic>": {"<partition>": <offset>}}}."""
      )
    }
    policy
  }

  /** The option of this cluster or, if it is not set, the value in the metadata. */
  private def own(
      id: String,
      known: Set[String],
      forms: Forms,
      metadata: Option[OffsetsPolicy]
  ): Option[OffsetsPolicy] =
    ClusterProperties.connectorValue(options.clusters, id, known, forms.timestamp)
      .map(OffsetsPolicy.Timestamp)
      .orElse(ClusterProperties.offsets(options.clusters, id, known, forms.byTimestamp))
      .orElse(ClusterProperties.offsets(options.clusters, id, known, forms.offsets))
      .orElse(metadata.map(OffsetsPolicy.about(id, _)))
      .map(options.offsets.withFallback)
}

private[source] object ClusterConfigs {

  /** The alternative options for one position. Precedence in this order, highest first. */
  private final case class Forms(
      timestamp: OptionSpec[Long],
      byTimestamp: OptionSpec[OffsetsPolicy],
      offsets: OptionSpec[OffsetsPolicy]
  )
  private val StartingForms = Forms(
    SourceOptionSpecs.StartingTimestamp,
    SourceOptionSpecs.StartingOffsetsByTimestamp,
    SourceOptionSpecs.StartingOffsets
  )
  private val EndingForms = Forms(
    SourceOptionSpecs.EndingTimestamp,
    SourceOptionSpecs.EndingOffsetsByTimestamp,
    SourceOptionSpecs.EndingOffsets
  )
}
