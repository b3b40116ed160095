package io.github.dynamickafka.source.cluster

import io.github.dynamickafka.config.option.OptionSpec
import io.github.dynamickafka.config.{ClusterProperties, SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.topology.{OffsetsPolicy, Topology, TopologyTopic}

/** What options and metadata together say of each cluster; the precedence is that of [[ClusterProperties]]. */
private[source] final class ClusterConfigs(options: SourceOptions) {
  import ClusterConfigs._

  /**
   * @param known ids of all clusters there are, to tell whose a `cluster.<id>.` option is
   * @param properties of the cluster, as the metadata service or the checkpoint gives them
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

  /** Where a topic starts when the query starts. */
  def starting(id: String, known: Set[String], topic: TopologyTopic): OffsetsPolicy =
    own(id, known, StartingForms, topic.startingOffsets)
      .getOrElse(ofOneCluster(SourceOptionSpecs.StartingOffsets, options.offsets.starting, known))

  /**
   * Where a topic starts that comes later.
   *
   * @param clusterIsKnown other topics of the cluster are read already, or were
   * @param unresolvedAtStart the cluster was there at the start of the query, but gave no answer then
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

  /** Where reading ends; None: nowhere. */
  def ending(id: String, known: Set[String], topic: TopologyTopic): Option[OffsetsPolicy] =
    own(id, known, EndingForms, topic.stoppingOffsets).orElse(options.offsets.ending)

  /** Refuses ends that are about one cluster, without its id, where there are several. Only for a first start. */
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
        s"the streams are on several clusters (${known.toSeq.sorted.mkString(", ")}), so the JSON needs their ids: " +
          """{"<cluster id>": {"<topic>": {"<partition>": <offset>}}}."""
      )
    }
    policy
  }

  /** The option of this very cluster, then what the metadata says. */
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

  /** The options that say the same in different forms; the first one that is set counts. */
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
