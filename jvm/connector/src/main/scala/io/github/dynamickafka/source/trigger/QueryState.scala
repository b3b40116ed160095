package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.offset.{CompositeOffset, OffsetRange}
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
  val losses = new LossPolicy(options.clusters.failOnDataLoss, QueryState.MissingTopicGraceMs, feed)
  val latestOffsets = new KnownLatestOffsets(checkpoint)
  val logged = new LoggedOffsets
  val deferred = new DeferredRanges(checkpoint, options.clusters.unreachable.deferWithState)
  val lost = new LostRecords

  /**
   * The end of the batch after `start`, and what it reads; the same object if there is no batch.
   *
   * @param computed from the positions that the query has reached
   * @param isBatch whether there is one although Kafka has nothing new
   */
  def endOf(
      start: CompositeOffset,
      computed: CompositeOffset,
      isBatch: Boolean = false
  ): (CompositeOffset, SortedMap[String, Seq[OffsetRange]]) = {
    val next = logged.next(start, deferred.resumed(start, computed))
    val end = if (!isBatch && next.sameAs(start)) start else next
    // Before anything is written: an offset that cannot be planned must not reach the checkpoint.
    (end, OffsetRange.beforeLogging(start, end))
  }
}

private[source] object QueryState {
  val MissingTopicGraceMs = 5000L
}
