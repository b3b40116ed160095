package io.github.dynamickafka.source.report

import java.time.Instant

import org.slf4j.LoggerFactory

import io.github.dynamickafka.time.Clock

/**
 * Warns of clusters whose unread records are older than the watermark of the query: Spark has one watermark for all clusters of a stream,
 * and drops such records as late, without an error. Once for a cluster until it has caught up. Used by the thread of the query.
 *
 * @param watermark in milliseconds since the epoch; None: the query has none
 */
private[report] final class LateClusters(watermark: () => Option[Long], clock: Clock) {
  private val log = LoggerFactory.getLogger(classOf[LateClusters])
  private var late = Set.empty[String]

  /** @param clusters those that are read */
  def check(clusters: Map[String, ClusterTimes]): Unit = {
    late = late.filter(clusters.get(_).exists(!_.isLevel))
    if (clusters.size > 1 && clusters.valuesIterator.exists(_.certain.isDefined)) watermark().foreach { at =>
      val (behind, others) =
        (for ((id, times) <- clusters.iterator; time <- times.certain) yield (id, time)).partition(_._2 < at)
      val now = behind.toMap
      late --= others.map(_._1)
      (now -- late).foreach { case (id, time) => log.warn(LateClusters.text(id, time, at, clusters, clock)) }
      late ++= now.keySet
    }
  }
}

private object LateClusters {

  /** @param first the time of the first unread record of the cluster */
  private def text(
      id: String,
      first: Long,
      watermark: Long,
      clusters: Map[String, ClusterTimes],
      clock: Clock
  ): String = {
    val now = clock.currentTimeMillis()
    val known = clusters.updated(id, clusters(id).copy(unread = Some(first)))
    val ahead = ClusterTimes.driftMs(known, now)
      .maxBy { case (other, drift) => (drift, other) }
    s"Kafka cluster '$id' lags behind the watermark of the query: its first unread record is of " +
      s"${Instant.ofEpochMilli(first)} (lag ${math.max(0L, now - first)} ms) and the watermark is at " +
      s"${Instant.ofEpochMilli(watermark)}, because cluster '${ahead._1}' has been read further " +
      s"(drift ${ahead._2} ms). Windows, joins and deduplication by event time drop records that are older than the " +
      "watermark as late, without an error. To read the clusters together by time, use alignment=timestamp with an " +
      "alignmentMaxDrift of at most the delay of the watermark: see docs/event-time.md"
  }
}
