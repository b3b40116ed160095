package io.github.dynamickafka.source.report

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import com.codahale.metrics.MetricRegistry

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.offset.{CompositeOffset, Positions}
import io.github.dynamickafka.page.GaugeSet
import io.github.dynamickafka.source.cluster.CommitCounter

/** The gauges of a query with one more. */
private[dynamickafka] object LaggingClusters {

  private final class WithLagging(commits: CommitCounter)
      extends QueryMetrics(() => 0L, () => 0L, commits, () => Map.empty, Clock.System) {
    override protected def ofQuery: Map[String, () => Long] = super.ofQuery ++ Map(
      "laggingClusters" -> (() => snapshot.pending.valuesIterator.count(_ > 0L).toLong)
    )
  }

  /** Of a query that has unread records on one of two clusters: the progress. */
  def shown(registry: MetricRegistry): Map[String, String] = {
    def at(offset: Long) = Positions.from(Seq(("orders", 0, offset)))
    val position = CompositeOffset(clusters = SortedMap("blue" -> at(5L), "green" -> at(5L)))
    val latest = SortedMap("blue" -> at(7L), "green" -> at(5L))
    val metrics = new WithLagging(new CommitCounter)
    val clusters = latest.keySet.toSet
    metrics.set(
      QuerySnapshot(position, latest, KnownClusters(clusters, clusters)),
      Some(new GaugeSet("q.0", Some(registry)))
    )
    metrics.progress(0L).asScala.toMap
  }
}
