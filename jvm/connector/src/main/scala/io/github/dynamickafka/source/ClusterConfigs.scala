package io.github.dynamickafka.source

import io.github.dynamickafka.config.{ClusterProperties, OptionSpec, SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{Topology, TopologyTopic}
import io.github.dynamickafka.offset.OffsetsPolicy

/** What options and metadata together say of each cluster; the precedence is that of [[ClusterProperties]]. */
private[source] final class ClusterConfigs(options: SourceOptions) {

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
    own(id, known, SourceOptionSpecs.StartingOffsets, topic.startingOffsets)
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
    own(id, known, SourceOptionSpecs.StartingOffsets, topic.startingOffsets).getOrElse {
      if (clusterIsKnown) options.offsets.newTopic
      else if (unresolvedAtStart)
        ofOneCluster(SourceOptionSpecs.StartingOffsets, options.offsets.starting, known)
      else options.offsets.newCluster
    }

  /** Where a bounded read ends. */
  def ending(id: String, known: Set[String], topic: TopologyTopic): OffsetsPolicy =
    own(id, known, SourceOptionSpecs.EndingOffsets, topic.stoppingOffsets)
      .orElse(options.offsets.ending.map(ofOneCluster(SourceOptionSpecs.EndingOffsets, _, known)))
      .getOrElse(OffsetsPolicy.Latest)

  def maxOffsetsPerTrigger(id: String, known: Set[String]): Option[Long] =
    ClusterProperties.connectorValue(options.clusters, id, known, SourceOptionSpecs.MaxOffsetsPerTrigger)

  /** Where reading ends is for batch reads: a query that streams must not overlook it. */
  def refuseEndings(): Unit = {
    val name = SourceOptionSpecs.EndingOffsets.name
    val own =
      options.clusters.perCluster.keys.find(_.toLowerCase.endsWith(s".$name".toLowerCase)).map("cluster." + _)
    options.offsets.ending.map(_ => name).orElse(own).foreach { option =>
      throw Errors.invalidOption(option, "", "it is for batch reads; a streaming read cannot end by it yet.")
    }
  }

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
      spec: OptionSpec[OffsetsPolicy],
      metadata: Option[OffsetsPolicy]
  ): Option[OffsetsPolicy] =
    ClusterProperties.offsets(
      options.clusters,
      id,
      known,
      spec
    ).orElse(metadata).map(options.offsets.withFallback)
}
