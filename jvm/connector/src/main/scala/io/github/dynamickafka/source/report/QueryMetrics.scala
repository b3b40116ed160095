package io.github.dynamickafka.source.report

import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.gauge.GaugeSet
import io.github.dynamickafka.source.cluster.CommitCounter

/**
 * Renders the snapshot of a query that reads as gauges and as metrics of its progress. The gauges of a cluster exist while it is read. The
 * thread of the query sets the snapshot, and any thread reads the gauges.
 *
 * @param metadataAgeMs of the last good answer
 * @param responseAgesMs how old the offsets of the clusters were that the last trigger used
 */
private[source] final class QueryMetrics(
    metadataAgeMs: () => Long,
    metadataFailures: () => Long,
    commits: CommitCounter,
    responseAgesMs: () => Map[String, Long],
    clock: Clock
) {
  import QueryMetrics._

  @volatile private var current = QuerySnapshot()
  @volatile private var latencies = Option.empty[Latencies]
  private val startedAt = clock.monotonicMs()
  private var shown = Option.empty[Set[String]]

  def snapshot: QuerySnapshot = current

  /** The query runs in real-time mode, in which it knows its latencies. */
  def showLatencies(of: Latencies): Unit = latencies = Some(of)

  /** @param gauges None: no trigger has found out which clusters there are */
  def set(next: QuerySnapshot, gauges: Option[GaugeSet]): Unit = {
    val isSame = current.isSame(next)
    if (!isSame) current = next
    gauges.foreach { set =>
      if (!shown.contains(next.listed)) {
        shown = Some(next.listed)
        set.show(ofQuery, next.listed.iterator.map(id => id -> ofCluster(id)).toMap)
      } else if (!isSame) set.changed()
    }
  }

  private def ofQuery: Map[String, () => Long] = Map(
    "kafkaClustersCount" -> (() => current.metadata.size.toLong),
    "pendingRecords" -> (() => current.pending.valuesIterator.sum),
    "unreachableClusters" -> (() => current.unreachable.size.toLong),
    "drainingClusters" -> (() => current.at.draining.size.toLong),
    "retainedClusters" -> (() => current.retained.toLong),
    "lostRecords" -> (() => current.counts.lost),
    "deferredRecords" -> (() => current.counts.deferred),
    "decodeErrors" -> (() => current.counts.decodeErrors),
    "droppedRecords" -> (() => current.counts.dropped),
    "deadLetterRecords" -> (() => current.counts.deadLetters),
    "metadataAgeMs" -> metadataAgeMs,
    "metadataFailures" -> metadataFailures,
    "commitsSucceeded" -> (() => commits.total.succeeded),
    "commitsFailed" -> (() => commits.total.failed)
  )

  private def ofCluster(id: String): Map[String, () => Long] = {
    def times = {
      val now = current
      now.lagAndDriftMs(now.listed + id, clock.currentTimeMillis())(id)
    }
    Map(
      "pendingRecords" -> (() => current.pending.getOrElse(id, 0L)),
      "recordsRead" -> (() => current.read.getOrElse(id, 0L)),
      "answerAgeMs" -> (() => math.max(0L, clock.monotonicMs() - current.answeredAt.getOrElse(id, startedAt))),
      "state" -> (() => current.state(id)),
      "eventTimeLagMs" -> (() => times._1),
      "eventTimeDriftMs" -> (() => times._2),
      "commitsSucceeded" -> (() => commits.of(id).succeeded),
      "commitsFailed" -> (() => commits.of(id).failed)
    ) ++ latenciesOf(id).map { case (percentile, ms) => s"latencyMs.$percentile" -> ms }
  }

  private def latenciesOf(id: String): Seq[(String, () => Long)] = latencies.toSeq.flatMap(of =>
    Percentiles.map { case (percentile, part) => percentile -> (() => of(id, part)) }
  )

  /** The metrics of the source in `StreamingQueryProgress.sources[].metrics`. */
  def progress(pendingHistoryFiles: Long): ju.Map[String, String] = {
    val now = current
    val lags = now.lags.valuesIterator.flatten.toSeq
    val average = if (lags.isEmpty) 0.0 else lags.map(_.toDouble).sum / lags.size
    val ages = responseAgesMs()
    val times = now.lagAndDriftMs(now.metadata, clock.currentTimeMillis())
    val byCluster = now.metadata.toSeq.flatMap(id =>
      Seq(
        "pendingRecords" -> now.pending.getOrElse(id, 0L),
        "snapshotAgeMs" -> ages.getOrElse(id, -1L),
        "eventTimeLagMs" -> times(id)._1,
        "eventTimeDriftMs" -> times(id)._2
      ).map { case (name, value) => s"$name.$id" -> value } ++
        latenciesOf(id).map { case (percentile, ms) => s"latencyMs.$id.$percentile" -> ms() }
    )
    val all = ofQuery.map { case (name, value) => name -> value() } ++ byCluster ++ Seq(
      "minOffsetsBehindLatest" -> lags.minOption.getOrElse(0L),
      "maxOffsetsBehindLatest" -> lags.maxOption.getOrElse(0L),
      "pendingHistoryFiles" -> pendingHistoryFiles,
      "repeatedRecords" -> now.counts.repeated
    )
    (all.map { case (name, value) => name -> value.toString } + ("avgOffsetsBehindLatest" -> average.toString)).asJava
  }
}

private[source] object QueryMetrics {

  /** The latency that this part of the records of a cluster does not exceed, in milliseconds; -1 if it is not known. */
  type Latencies = (String, Double) => Long

  private val Percentiles: Seq[(String, Double)] = Seq("p50" -> 0.5, "p99" -> 0.99)
}
