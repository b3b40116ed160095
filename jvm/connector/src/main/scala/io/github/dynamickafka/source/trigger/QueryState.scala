package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.source.checkpoint.{LoggedOffsets, SourceCheckpoint}
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterStreams}

/**
 * What all parts of a query that reads share, and what they keep from trigger to trigger. Used only by the thread of the query.
 */
private[source] final class QueryState(
    val options: SourceOptions,
    val feed: TopologyFeed,
    val streams: ClusterStreams,
    val checkpoint: SourceCheckpoint,
    val clock: Clock
) {
  val configs = new ClusterConfigs.ByScope(options)
  val losses = new LossPolicy(options.failOnDataLoss, QueryState.MissingTopicGraceMs, feed)
  val latestOffsets = new KnownLatestOffsets(checkpoint)
  val logged = new LoggedOffsets
  val deferred = new DeferredRanges(checkpoint, options.deferWithState)
  val lost = new LostRecords
}

private[source] object QueryState {
  val MissingTopicGraceMs = 5000L
}
