package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.metadata.{OffsetsPolicy, Topology, TopologyTopic}
import io.github.dynamickafka.offset.history.HandOver
import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, Reconcile, Transition}
import io.github.dynamickafka.source.checkpoint.{DecidedEntries, InitialOffset}
import io.github.dynamickafka.source.cluster.ClusterConfigs

/**
 * What a trigger decides with. Created once, when the trigger begins, and passed down: a topology that the metadata service
 * returns meanwhile is that of the next trigger.
 *
 * @param start the positions that the query has reached
 * @param topology the newest one, without the topics that match patterns
 * @param topologyConfigs the configurations of the clusters of the topology
 * @param configs the same, with the clusters that are read although they have left the topology
 * @param now epoch milliseconds
 * @param origin how the query has started
 * @param complete see [[io.github.dynamickafka.source.cluster.ClusterQuestion]]
 * @param pinned responses to use instead of new requests
 */
private[dynamickafka] final case class TriggerContext(
    start: CompositeOffset,
    topology: Topology,
    topologyConfigs: ClusterConfigs,
    configs: ClusterConfigs,
    now: Long,
    origin: TriggerContext.Origin,
    complete: Boolean,
    pinned: Option[Map[String, ClusterView]]
) {

  /** Where topics enter, as an earlier run has decided. */
  def decided: DecidedEntries = origin match {
    case TriggerContext.FirstStart(_) => DecidedEntries.none
    case TriggerContext.Started(_, decided) => decided
  }

  /** The same at what was read since, if it began as a trigger of a running query. */
  def readFurther(reached: CompositeOffset, now: Long, decided: DecidedEntries): Option[TriggerContext] =
    origin match {
      case started: TriggerContext.Started if pinned.isEmpty =>
        Some(copy(start = reached, now = now, origin = started.copy(decided = decided)))
      case _ => None
    }

  /** @param expanded the topology with the topics that match patterns */
  def transition(options: SourceOptions, expanded: Topology): Transition = {
    val rules = Reconcile.Rules(
      options.removedClusterRetentionMs,
      options.drainRemovedClusters,
      entry,
      configs.ending(_, _),
      startsOnce,
      topologyConfigs.entering(_, _, _, unresolvedAtStart = false)
    )
    Reconcile(start, expanded, now, rules)
  }

  private def startsOnce(id: String, name: String): Boolean = origin match {
    case TriggerContext.Started(Some(i), _) =>
      i.unresolved(id) || i.isUnresolved(id, name) || i.handOver.has(id, name)
    case _ => false
  }

  /** The start position of a topic without a position, if it has not been read. */
  private def entry(
      id: String,
      name: String,
      topic: TopologyTopic,
      clusterIsKnown: Boolean
  ): OffsetsPolicy = origin match {
    case TriggerContext.FirstStart(handOver) => handOver.start(id, name, topologyConfigs.starting(id, topic))
    case TriggerContext.Started(initial, _) =>
      val isUnresolved = initial.exists(_.isUnresolved(id, name))
      val policy = topologyConfigs.entering(
        id,
        topic,
        clusterIsKnown && !isUnresolved,
        isUnresolved || initial.exists(_.unresolved(id))
      )
      // Also a topic that enters long after the first start follows on its history.
      initial.fold(policy)(_.handOver.start(id, name, policy))
  }
}

private[dynamickafka] object TriggerContext {
  sealed trait Origin

  /**
   * The trigger determines the start offset of batch 0.
   *
   * @param handOver where Kafka follows on histories
   */
  final case class FirstStart(handOver: HandOver) extends Origin

  /**
   * @param initial how the start offset of batch 0 was determined, if the checkpoint has it
   * @param decided where topics enter, as an earlier run has decided
   */
  final case class Started(initial: Option[InitialOffset], decided: DecidedEntries = DecidedEntries.none)
      extends Origin

  def begin(
      start: CompositeOffset,
      topology: Topology,
      configs: ClusterConfigs.ByScope,
      now: Long,
      origin: Origin,
      complete: Boolean = false,
      pinned: Option[Map[String, ClusterView]] = None
  ): TriggerContext = {
    val ids = topology.clusters.keySet.toSet
    TriggerContext(
      start,
      topology,
      configs(ids),
      configs(ids ++ start.clusters.keySet),
      now,
      origin,
      complete,
      pinned
    )
  }
}
