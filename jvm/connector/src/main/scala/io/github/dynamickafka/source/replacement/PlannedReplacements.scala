package io.github.dynamickafka.source.replacement

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.metadata.ReplacedClusterPolicy
import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, NextOffset, Transition}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterStream, ClusterStreams}

/**
 * Where a query that does not run would continue in clusters that take the place of others, by the code of a trigger. Nothing is
 * logged or stored. Blocks.
 */
private[dynamickafka] object PlannedReplacements {

  /**
   * @param configs of the clusters of the transition
   * @throws DynamicKafkaRuntimeException `CLUSTER_REPLACED`, `CLUSTER_UNREACHABLE` and others that fail the query
   */
  def decide(
      policy: ReplacedClusterPolicy,
      checkpoint: SourceCheckpoint,
      configs: Map[String, ClusterConfig],
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Option[DecidedReplacements] = {
    val clock = Clock.System
    val streams = new ClusterStreams(
      new ClusterStream(_, _, clock),
      skipUnreachable = false,
      failureTimeoutMs = -1L,
      clock
    )
    try {
      streams.set(configs)
      val lastRecords = new LastRecords(checkpoint, (_, _) => None)
      new ReplacedClusters(policy, new Replacements(policy), lastRecords, streams, clock)
        .decide(start, transition, views, next)
    } finally streams.close()
  }
}
