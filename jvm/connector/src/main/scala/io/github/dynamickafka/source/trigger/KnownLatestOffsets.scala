package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{ClusterView, Positions}

/**
 * The newest latest offsets that each cluster of the topology has returned. While a cluster or a partition does not
 * respond, those that it returned before are kept, so that its lag does not become 0. Used only by the thread of the query.
 */
private[source] final class KnownLatestOffsets {
  private var seen: Option[TriggerSnapshot] = None
  private var known = SortedMap.empty[String, Positions]

  /** The latest offsets, by cluster. The same object until a trigger has found another state. */
  def current: SortedMap[String, Positions] = known

  /** @return those that were known before */
  def update(snapshot: TriggerSnapshot): SortedMap[String, Positions] = {
    val before = known
    if (!seen.exists(_ eq snapshot)) {
      seen = Some(snapshot)
      known = KnownLatestOffsets.after(known, snapshot.views)
    }
    before
  }
}

private[source] object KnownLatestOffsets {

  /** @param views what the clusters of the topology have returned now; others are forgotten */
  def after(
      known: SortedMap[String, Positions],
      views: Map[String, ClusterView]
  ): SortedMap[String, Positions] =
    SortedMap.from(views.flatMap {
      case (id, view: ClusterView.Reachable) =>
        val unanswered =
          known.getOrElse(id, Positions.empty).filter((t, p) => view.unanswered.contains((t, p)))
        Some(id -> (unanswered ++ view.ends))
      case (id, ClusterView.Unreachable | ClusterView.Pending) => known.get(id).map(id -> _)
    })
}
