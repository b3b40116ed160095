package io.github.dynamickafka.source.report

import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.cluster.CommitCounts

/**
 * The metrics of the source in `StreamingQueryProgress.sources[].metrics`. Pure. Never throws, because an exception
 * would fail the query.
 */
private[source] object SourceMetrics {

  /**
   * @param consumed the offset after the batch, without records that were deferred
   * @param lags the lag of each partition, by cluster
   * @param clusters the cluster ids of the topology
   * @param responseAgesMs how old the offsets of the clusters were that the last trigger used
   * @param lagAndDriftMs the event-time lag and drift of the clusters
   * @param pendingHistoryFiles files of histories that are not read
   * @param latenciesMs in real-time mode, by cluster and percentile
   */
  def apply(
      consumed: CompositeOffset,
      lags: SortedMap[String, Seq[Long]],
      clusters: Set[String],
      unreachable: Set[String],
      metadataAgeMs: Long,
      metadataFailures: Int,
      commits: CommitCounts,
      counts: RecordCounts,
      responseAgesMs: Map[String, Long] = Map.empty,
      lagAndDriftMs: Map[String, (Long, Long)] = Map.empty,
      pendingHistoryFiles: Long = 0L,
      latenciesMs: Map[(String, String), Long] = Map.empty
  ): ju.Map[String, String] = {
    val all = lags.valuesIterator.flatten.toSeq
    val general = Map(
      "minOffsetsBehindLatest" -> all.minOption.getOrElse(0L).toString,
      "maxOffsetsBehindLatest" -> all.maxOption.getOrElse(0L).toString,
      "avgOffsetsBehindLatest" -> (if (all.isEmpty) 0.0 else all.map(_.toDouble).sum / all.size).toString,
      "kafkaClustersCount" -> clusters.size.toString,
      "pendingRecords" -> all.sum.toString,
      "retainedClusters" -> consumed.retained.count(_._2.positions.nonEmpty).toString,
      "drainingClusters" -> consumed.draining.size.toString,
      "unreachableClusters" -> unreachable.size.toString,
      "pendingHistoryFiles" -> pendingHistoryFiles.toString,
      "deferredRecords" -> counts.deferred.toString,
      "lostRecords" -> counts.lost.toString,
      "repeatedRecords" -> counts.repeated.toString,
      "decodeErrors" -> counts.decodeErrors.toString,
      "droppedRecords" -> counts.dropped.toString,
      "deadLetterRecords" -> counts.deadLetters.toString,
      "metadataAgeMs" -> metadataAgeMs.toString,
      "metadataFailures" -> metadataFailures.toString,
      "commitsSucceeded" -> commits.succeeded.toString,
      "commitsFailed" -> commits.failed.toString
    )
    val byCluster = clusters.map(id => s"pendingRecords.$id" -> lags.getOrElse(id, Nil).sum.toString)
    val ages = clusters.map(id => s"snapshotAgeMs.$id" -> responseAgesMs.getOrElse(id, -1L).toString)
    val timeLags = clusters.flatMap { id =>
      val (lag, drift) = lagAndDriftMs.getOrElse(id, (ClusterTimes.Unknown, ClusterTimes.Unknown))
      Seq(s"eventTimeLagMs.$id" -> lag.toString, s"eventTimeDriftMs.$id" -> drift.toString)
    }
    val latencies = latenciesMs.map { case ((id, percentile), ms) =>
      s"latencyMs.$id.$percentile" -> ms.toString
    }
    (general ++ byCluster ++ ages ++ timeLags ++ latencies).asJava
  }
}
