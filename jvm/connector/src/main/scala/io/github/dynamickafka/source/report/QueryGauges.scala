package io.github.dynamickafka.source.report

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.gauge.GaugeSet
import io.github.dynamickafka.source.cluster.CommitCounter
import io.github.dynamickafka.source.trigger.TopologyFeed

/**
 * The values of the gauges of one cluster.
 *
 * @param pendingRecords the lag after the last batch, in records
 * @param recordsRead the number of records in completed batches since the query started, calculated from offsets
 * @param answeredAt when the last response was requested, in monotonic milliseconds
 * @param state 0: reading; 1: draining; 2: unreachable
 * @param times the record times after the last batch
 */
private[source] final case class ClusterGauges(
    pendingRecords: Long = 0L,
    recordsRead: Long = 0L,
    answeredAt: Long = 0L,
    state: Long = 0L,
    times: ClusterTimes = ClusterTimes(),
    eventTimeDriftMs: Long = 0L
)

/** The values of the gauges of one query, except those that are determined when they are read. */
private[source] final case class GaugeValues(
    clusters: SortedMap[String, ClusterGauges] = SortedMap.empty,
    topology: Int = 0,
    draining: Int = 0,
    retained: Int = 0,
    counts: RecordCounts = RecordCounts()
)

/**
 * The gauges of one query that reads. Those of a cluster exist while it is read. The thread of the query sets the values, and
 * any thread reads them.
 */
private[source] final class QueryGauges(
    gauges: GaugeSet,
    feed: TopologyFeed,
    commitCounter: CommitCounter,
    clock: Clock,
    latencies: Option[QueryGauges.Latencies] = None
) {
  @volatile private var values = GaugeValues()
  private var ids = Option.empty[Set[String]]

  def show(next: GaugeValues): Unit = {
    values = next
    val wanted = next.clusters.keySet.toSet
    if (!ids.contains(wanted)) {
      ids = Some(wanted)
      gauges.show(ofQuery, wanted.map(id => id -> ofCluster(id)).toMap)
    } else gauges.changed()
  }

  def close(): Unit = gauges.close()

  private def ofQuery: Map[String, () => Long] = Map(
    "kafkaClustersCount" -> (() => values.topology.toLong),
    "pendingRecords" -> (() => values.clusters.valuesIterator.map(_.pendingRecords).sum),
    "unreachableClusters" -> (() => values.clusters.count(_._2.state == QueryGauges.Unreachable).toLong),
    "drainingClusters" -> (() => values.draining.toLong),
    "retainedClusters" -> (() => values.retained.toLong),
    "lostRecords" -> (() => values.counts.lost),
    "deferredRecords" -> (() => values.counts.deferred),
    "decodeErrors" -> (() => values.counts.decodeErrors),
    "droppedRecords" -> (() => values.counts.dropped),
    "deadLetterRecords" -> (() => values.counts.deadLetters),
    "metadataAgeMs" -> (() => feed.ageMs),
    "metadataFailures" -> (() => feed.failures.toLong),
    "commitsSucceeded" -> (() => commitCounter.total.succeeded),
    "commitsFailed" -> (() => commitCounter.total.failed)
  )

  private def ofCluster(id: String): Map[String, () => Long] = {
    def of(value: ClusterGauges => Long) = () => values.clusters.get(id).fold(0L)(value)
    Map(
      "pendingRecords" -> of(_.pendingRecords),
      "recordsRead" -> of(_.recordsRead),
      "answerAgeMs" -> of(cluster => math.max(0L, clock.monotonicMs() - cluster.answeredAt)),
      "state" -> of(_.state),
      "eventTimeLagMs" -> of(_.times.lagMs(clock.currentTimeMillis())),
      "eventTimeDriftMs" -> of(_.eventTimeDriftMs),
      "commitsSucceeded" -> (() => commitCounter.of(id).succeeded),
      "commitsFailed" -> (() => commitCounter.of(id).failed)
    ) ++ latencies.toSeq.flatMap(of =>
      QueryGauges.Percentiles.map { case (percentile, part) =>
        s"latencyMs.$percentile" -> (() => of(id, part))
      }
    )
  }
}

private[source] object QueryGauges {

  /** The latency that this part of the records of a cluster does not exceed, in milliseconds; -1 if it is not known. */
  type Latencies = (String, Double) => Long

  val Percentiles: Seq[(String, Double)] = Seq("p50" -> 0.5, "p99" -> 0.99)

  val Reading = 0L
  val Draining = 1L
  val Unreachable = 2L
}
