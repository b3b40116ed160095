package io.github.dynamickafka.source.cluster

import io.github.dynamickafka.config.option.OptionSpec
import io.github.dynamickafka.config.{ClusterScope, SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.topology.{OffsetsPolicy, TopologyTopic}

/**
 * What options and metadata together say of each cluster of one topology; the precedence is that of
 * [[io.github.dynamickafka.config.ClusterProperties]].
 */
private[source] final class ClusterConfigs(options: SourceOptions, scope: ClusterScope) {
  import ClusterConfigs._

  /** @param properties of the cluster, as the metadata service or the checkpoint gives them */
  def apply(id: String, properties: Map[String, String]): ClusterConfig = {
    val effective = scope.consumer(id, properties)
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

  /** Where a topic starts when the query starts. */
  def starting(id: String, topic: TopologyTopic): OffsetsPolicy =
    own(id, StartingForms, topic.startingOffsets)
      .getOrElse(ofOneCluster(SourceOptionSpecs.StartingOffsets, options.offsets.starting))

  /**
   * Where a topic starts that comes later.
   *
   * @param clusterIsKnown other topics of the cluster are read already, or were
   * @param unresolvedAtStart the cluster was there at the start of the query, but gave no answer then
   */
  def entering(
      id: String,
      topic: TopologyTopic,
      clusterIsKnown: Boolean,
      unresolvedAtStart: Boolean
  ): OffsetsPolicy =
    own(id, StartingForms, topic.startingOffsets).getOrElse {
      if (clusterIsKnown) options.offsets.newTopic
      else if (unresolvedAtStart)
        ofOneCluster(SourceOptionSpecs.StartingOffsets, options.offsets.starting)
      else options.offsets.newCluster
    }

  /** Where reading ends; None: nowhere. */
  def ending(id: String, topic: TopologyTopic): Option[OffsetsPolicy] =
    own(id, EndingForms, topic.stoppingOffsets).orElse(options.offsets.ending)

  /** Refuses ends that are about one cluster, without its id, where there are several. Only for a first start. */
  def checkEnding(): Unit =
    options.offsets.ending.foreach(ofOneCluster(SourceOptionSpecs.EndingOffsets, _))

  def maxOffsetsPerTrigger(id: String): Option[Long] =
    scope.value(id, SourceOptionSpecs.MaxOffsetsPerTrigger)

  private def ofOneCluster(spec: OptionSpec[_], policy: OffsetsPolicy): OffsetsPolicy = {
    val byTopic = policy match {
      case OffsetsPolicy.Exact(all) => all.contains(OffsetsPolicy.AnyCluster)
      case OffsetsPolicy.TimestampByPartition(all) => all.contains(OffsetsPolicy.AnyCluster)
      case _ => false
    }
    if (byTopic && scope.ids.size > 1) {
      throw Errors.invalidOption(
        spec.name,
        "{topic: ...}",
        s"the streams are on several clusters (${scope.ids.toSeq.sorted.mkString(", ")}), so the JSON needs their ids: " +
          """{"<cluster id>": {"<topic>": {"<partition>": <offset>}}}."""
      )
    }
    policy
  }

  /** The option of this very cluster, then what the metadata says. */
  private def own(
      id: String,
      forms: Forms,
      metadata: Option[OffsetsPolicy]
  ): Option[OffsetsPolicy] =
    scope.value(id, forms.timestamp)
      .map(OffsetsPolicy.Timestamp)
      .orElse(scope.offsets(id, forms.byTimestamp))
      .orElse(scope.offsets(id, forms.offsets))
      .orElse(metadata.map(OffsetsPolicy.about(id, _)))
      .map(options.offsets.withFallback)
}

private[source] object ClusterConfigs {

  def apply(options: SourceOptions, ids: Set[String]): ClusterConfigs =
    new ClusterConfigs(options, new ClusterScope(options.clusters, ids))

  /** Makes one for each set of known clusters, and keeps the newest few. Of one thread. */
  final class ByScope(options: SourceOptions) {
    private var kept = Map.empty[Set[String], ClusterConfigs]

    def apply(ids: Set[String]): ClusterConfigs = kept.getOrElse(
      ids, {
        val made = ClusterConfigs(options, ids)
        // What a trigger needs: the topology's clusters, and these with the ones that are read though they have left.
        kept = (if (kept.size < MostKept) kept else Map.empty[Set[String], ClusterConfigs]) + (ids -> made)
        made
      }
    )
  }
  private val MostKept = 4

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
