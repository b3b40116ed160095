package io.github.dynamickafka.source.report

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{CompositeOffset, Positions}
import io.github.dynamickafka.page.ClusterState
import io.github.dynamickafka.source.trigger.TriggerSnapshot

/**
 * What is known of a query that reads, after a trigger or a batch. Progress, gauges and the page of the driver show it. Immutable.
 *
 * @param at the position, without records that were deferred
 * @param latest the latest offsets, by cluster
 * @param read the number of records in completed batches since the query started, calculated from offsets, by cluster
 * @param answeredAt when the last response of a cluster was requested, in monotonic milliseconds
 * @param times the record times at the position, by cluster that is read
 */
private[source] final case class QuerySnapshot(
    at: CompositeOffset = CompositeOffset.empty,
    latest: SortedMap[String, Positions] = SortedMap.empty,
    clusters: KnownClusters = KnownClusters(),
    read: Map[String, Long] = Map.empty,
    answeredAt: Map[String, Long] = Map.empty,
    times: Map[String, ClusterTimes] = Map.empty,
    counts: RecordCounts = RecordCounts()
) {

  /** How many records each partition is behind its latest offset, by cluster. */
  lazy val lags: SortedMap[String, Seq[Long]] = at.clusters.map { case (id, positions) =>
    id -> positions.iterator.map { case (topic, p, at) =>
      latest.get(id).flatMap(_.get(topic, p)).fold(0L)(end => math.max(0L, end - at))
    }.toSeq
  }

  lazy val pending: Map[String, Long] = lags.map { case (id, of) => id -> of.sum }

  def retained: Int = at.retained.count(_._2.positions.nonEmpty)

  /** The state of a cluster that has gauges, also of an unreachable one. */
  def state(id: String): Long =
    if (clusters.retained(id)) ClusterState.Retained
    else if (at.draining.getOrElse(id, Positions.empty).nonEmpty) ClusterState.Draining
    else ClusterState.Active

  /** The lag and drift of these clusters by record times, in milliseconds; -1: they are not known. */
  def lagAndDriftMs(ids: Set[String], now: Long): Map[String, (Long, Long)] = {
    // Nothing is read yet of a cluster whose topics do not exist, and nothing is known of one that has not responded yet.
    val all = times ++ (ids -- times.keySet).map(id => id -> ClusterTimes(isLevel = answeredAt.contains(id)))
    val drifts = ClusterTimes.driftMs(all, now)
    ids.iterator.map(id => id -> (all(id).lagMs(now), drifts(id))).toMap
  }

  /** Whether these are the same objects, as in most triggers of an idle query: nothing has to be computed again. */
  def isSame(other: QuerySnapshot): Boolean =
    (at eq other.at) && (latest eq other.latest) && (read eq other.read) && (times eq other.times) &&
      clusters == other.clusters && answeredAt == other.answeredAt && counts == other.counts
}

private[source] object QuerySnapshot {

  /** @param answeredAt with the last responses of clusters that get no more requests */
  def of(
      trigger: TriggerSnapshot,
      at: CompositeOffset,
      answeredAt: Map[String, Long]
  ): QuerySnapshot = {
    val clusters = trigger.topology.clusters
    val drained = clusters.collect {
      case (id, of)
          if of.topics.nonEmpty && at.retained.get(id).exists(r => of.topics.keySet.subsetOf(r.drained)) =>
        id
    }
    val listed = (clusters.keySet -- drained).toSet ++ trigger.transition.clusters.keySet
    QuerySnapshot(
      at,
      clusters = KnownClusters(clusters.keySet.toSet, listed, retained = drained.toSet -- listed),
      answeredAt = answeredAt.filter { case (id, _) => listed(id) }
    )
  }
}

/**
 * @param metadata the clusters of the topology
 * @param listed the clusters that are read: what has drained gets no more requests, and a removed cluster may still be read
 * @param retained clusters of the topology that have drained
 */
private[source] final case class KnownClusters(
    metadata: Set[String] = Set.empty,
    listed: Set[String] = Set.empty,
    unreachable: Set[String] = Set.empty,
    retained: Set[String] = Set.empty
)

/**
 * Counts of records of a query, all but the first one since its start.
 *
 * @param deferred records of unreachable clusters that were logged and have not been read yet
 * @param decodeErrors records of which a key or value could not be decoded
 * @param dropped those of them that yielded no row, without dead letters
 * @param deadLetters those of them that are dead letters
 * @param repeated records that are read again in a cluster that was replaced
 */
private[source] final case class RecordCounts(
    deferred: Long = 0L,
    lost: Long = 0L,
    decodeErrors: Long = 0L,
    dropped: Long = 0L,
    deadLetters: Long = 0L,
    repeated: Long = 0L
)

/**
 * The record times of one cluster at the position of the query, in milliseconds since the epoch.
 *
 * @param read the time of the last record that was read; None: this run has read none
 * @param isLevel whether all of its records are read, as far as is known; false for a cluster that has not responded yet
 * @param unread the least time of a first unread record of a partition; None: it is not known, or there is none
 * @param certain the same over the partitions whose time is known for certain, or is this time or an earlier one
 */
private[source] final case class ClusterTimes(
    read: Option[Long] = None,
    isLevel: Boolean = true,
    unread: Option[Long] = None,
    certain: Option[Long] = None
) {

  /** How long ago the first unread record was written; 0: there is none; -1: its time is not known. */
  def lagMs(now: Long): Long =
    if (isLevel) 0L
    else unread.fold(ClusterTimes.Unknown)(time => math.max(0L, now - time))
}

private[source] object ClusterTimes {
  private val Unknown: Long = -1L

  /**
   * How far each cluster has been read beyond the least time of a first unread record over the clusters; 0 if there is no unread
   * record, -1 if one of the times is not known. Times later than now count as now.
   */
  def driftMs(clusters: Map[String, ClusterTimes], now: Long): Map[String, Long] = {
    val least = clusters.valuesIterator.flatMap(_.unread).minOption
    val isLevel = clusters.valuesIterator.forall(_.isLevel)
    clusters.map { case (id, times) =>
      val drift = for (read <- times.read; first <- least)
        yield math.max(0L, math.min(now, read) - math.min(now, first))
      id -> (if (isLevel) 0L else drift.getOrElse(Unknown))
    }
  }
}
