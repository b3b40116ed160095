package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{ClusterView, Positions}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint

/**
 * The newest latest offsets that each cluster of the topology has returned, in this run or in the one before. Those of a
 * cluster or partition that does not respond, and of a topic that is missing, are kept, so that its lag does not become 0.
 * Used only by the thread of the query.
 */
private[source] final class KnownLatestOffsets(checkpoint: SourceCheckpoint) {
  private var seen: Option[TriggerSnapshot] = None
  private lazy val before = checkpoint.takeLatestOffsets()
  private var known: Option[SortedMap[String, Positions]] = None

  /** The latest offsets, by cluster. The same object until a trigger has found another state. */
  def current: SortedMap[String, Positions] = known.getOrElse(before)

  /** @return those that were known before */
  def update(snapshot: TriggerSnapshot): SortedMap[String, Positions] = {
    val before = current
    if (!seen.exists(_ eq snapshot)) {
      seen = Some(snapshot)
      known = Some(KnownLatestOffsets.after(before, snapshot.views))
    }
    before
  }

  /** Whether all records of a topic that were known had been read at these positions. */
  def areRead(cluster: String, topic: String, positions: SortedMap[Int, Long]): Boolean = {
    val latest = current.getOrElse(cluster, Positions.empty)
    positions.forall { case (p, at) => latest.get(topic, p).exists(_ <= at) }
  }

  /** Leaves what this run has found to the next one. */
  def close(): Unit = known.foreach(checkpoint.leaveLatestOffsets)
}

private[source] object KnownLatestOffsets {

  /** @param views what the clusters of the topology have returned now; others are forgotten */
  def after(
      known: SortedMap[String, Positions],
      views: Map[String, ClusterView]
  ): SortedMap[String, Positions] =
    SortedMap.from(views.flatMap {
      case (id, view: ClusterView.Reachable) =>
        val kept = known.getOrElse(id, Positions.empty)
          .filter((t, p) => view.missing(t) || view.unanswered.contains((t, p)))
        Some(id -> (kept ++ view.ends))
      case (id, ClusterView.Unreachable | ClusterView.Pending) => known.get(id).map(id -> _)
    })
}
