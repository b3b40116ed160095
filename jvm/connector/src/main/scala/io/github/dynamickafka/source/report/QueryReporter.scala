package io.github.dynamickafka.source.report

import scala.collection.immutable.SortedMap
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, OffsetRange, Positions}
import io.github.dynamickafka.source.cluster.{ClusterStreams, CommitCounter, CommitCounts}
import io.github.dynamickafka.source.trigger.{TopologyFeed, TriggerPlanner, TriggerSnapshot}
import io.github.dynamickafka.time.Clock

/**
 * What a query shows of itself outside of its progress: its offsets in a consumer group of each cluster, and gauges.
 * Told of each step by the query's thread, which it neither holds up nor fails.
 *
 * A batch is finished when Spark's commit log has it, and nothing is committed before that. Spark tells it three times:
 * when it asks for the metrics of a progress, which is right after the batch and the only time for the last one of a
 * query that is stopped, or of `Trigger.Once`; when it asks where to go on, which after a restart is where the log
 * says; and, with the batch after it, by `commit`.
 *
 * @param commits whether offsets go to a consumer group
 * @param checkpoint the source's own folder in the checkpoint
 */
private[source] final class QueryReporter(
    commits: Boolean,
    checkpoint: String,
    streams: ClusterStreams,
    feed: TopologyFeed,
    clock: Clock
) {
  private val log = LoggerFactory.getLogger(classOf[QueryReporter])
  private val tally = new CommitCounter
  private val startedAt = clock.monotonicMs()
  private lazy val gauges = new QueryGauges(
    GaugeNames.prefix(Thread.currentThread.getName, checkpoint),
    feed,
    tally,
    clock,
    QueryGauges.registry()
  )

  private var beginning: Option[CompositeOffset] = None
  private var looked: Option[TriggerSnapshot] = None
  private var consumed: Option[CompositeOffset] = None
  private var planned: Option[(CompositeOffset, SortedMap[String, Long])] = None
  private var read = Map.empty[String, Long]
  private var answeredAt = Map.empty[String, Long]

  def commitCounts: CommitCounts = tally.total

  /** Where batch 0 starts, which no batch has come to yet. */
  def begins(at: CompositeOffset): Unit = beginning = Some(at)

  /** @param start where the query goes on */
  def looked(start: CompositeOffset, look: TriggerSnapshot): Unit = safely {
    val fresh = !looked.exists(_.views eq look.views)
    val answered = look.views.collect { case (id, _: ClusterView.Reachable) => id }
    if (fresh) answeredAt ++= answered.map(_ -> clock.monotonicMs())
    looked = Some(look)
    if (!beginning.contains(start)) reached(start)
    show()
  }

  /** What the batch that ends here reads. */
  def planned(end: CompositeOffset, ranges: SortedMap[String, Seq[OffsetRange]]): Unit =
    planned = Some(end -> ranges.map { case (id, ofCluster) => id -> ofCluster.map(_.size).sum })

  /** The batch that ends here is in Spark's commit log. */
  def finished(end: CompositeOffset): Unit = safely {
    planned.filter(_._1 == end).foreach { case (_, sizes) =>
      read = sizes.foldLeft(read) { case (all, (id, n)) => all.updated(id, all.getOrElse(id, 0L) + n) }
      planned = None
    }
    reached(end)
    show()
  }

  def close(): Unit = safely(gauges.close())

  private def reached(offset: CompositeOffset): Unit = {
    consumed = Some(offset)
    if (commits) offset.clusters.foreach { case (id, positions) => streams.commit(id, positions, tally) }
  }

  private def show(): Unit = looked.foreach { look =>
    val at = consumed.getOrElse(CompositeOffset.empty)
    val lags = SourceMetrics.lags(at, TriggerPlanner.ends(look.views))
    val ids = look.topology.clusters.keySet.toSet ++ look.transition.clusters.keySet
    answeredAt = answeredAt.filter { case (id, _) => ids.contains(id) }
    gauges.show(GaugeValues(
      SortedMap.from(ids.map { id =>
        id -> ClusterGauges(
          lags.getOrElse(id, Nil).sum,
          read.getOrElse(id, 0L),
          answeredAt.getOrElse(id, startedAt),
          state(id, at)
        )
      }),
      look.topology.clusters.size,
      at.draining.size,
      at.retained.count(_._2.positions.nonEmpty)
    ))
  }

  private def state(id: String, at: CompositeOffset): Long =
    if (streams.unreachable(id)) QueryGauges.Unreachable
    else if (at.draining.getOrElse(id, Positions.empty).nonEmpty) QueryGauges.Draining
    else QueryGauges.Reading

  private def safely(step: => Unit): Unit =
    try step
    catch { case NonFatal(e) => log.warn("What the query shows of itself is not up to date", e) }
}
