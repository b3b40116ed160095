package io.github.dynamickafka.source.realtime

import io.github.dynamickafka.offset.{
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  NextOffset,
  Positions,
  Transition
}
import io.github.dynamickafka.source.checkpoint.DecidedEntries
import io.github.dynamickafka.topology.ReplacedClusterPolicy

/**
 * The end of a batch by the responses of clusters from before its tasks have ended: records were read since, and nothing else has changed. Pure.
 */
private[source] object FurtherRead {

  /**
   * Whether what is found at the start of a batch is so at its end, too, but for how far it has read. Not so is where a cluster continues in
   * the place of another one, which is still read, and what is lost.
   */
  def isCertain(atStart: NextOffset): Boolean =
    atStart.losses.isEmpty && atStart.replaced.isEmpty && atStart.renamed.isEmpty

  /**
   * @param reached what the tasks have read
   * @param before the effect of the topology on the start of the batch, to which `views` are the responses
   * @param transition the same of `reached`
   * @return None if these responses do not suffice: then the clusters have to be asked
   */
  def apply(
      reached: CompositeOffset,
      before: Transition,
      transition: Transition,
      views: Map[String, ClusterView],
      decided: DecidedEntries,
      ifReplaced: ReplacedClusterPolicy
  ): Option[(Map[String, ClusterView], NextOffset)] =
    if (!sameWork(before, transition) || !views.forall { case (id, view) => suffices(reached, id, view) })
      None
    else {
      val further = views.map {
        case (id, view: ClusterView.Reachable) =>
          id -> view.copy(ends = view.ends ++ beyond(reached, id, view))
        case other => other
      }
      val next = NextOffset(reached, transition, decided.in(further), ifReplaced, _ => false)
      Option.when(isCertain(decided.losses(further, next)))((further, next))
    }

  private def suffices(reached: CompositeOffset, id: String, view: ClusterView): Boolean = view match {
    case view: ClusterView.Reachable =>
      val epochs = reached.identity(id).epochs
      view.unanswered.isEmpty &&
      // Below a position behind the response, records may be of a later leader than that of the response.
      beyond(reached, id, view).iterator.forall { case (topic, p, _) =>
        epochs.get(topic, p).isDefined || view.epochs.get(topic, p).isEmpty
      }
    case ClusterView.Unreachable | ClusterView.Pending => true
  }

  /** Where records were read that the response does not have. */
  private def beyond(reached: CompositeOffset, id: String, view: ClusterView.Reachable): Positions =
    Positions.from(reached.position(id).iterator.filter { case (topic, p, at) =>
      view.ends.get(topic, p).exists(_ < at)
    })

  private def sameWork(before: Transition, now: Transition): Boolean =
    before.clusters.keySet == now.clusters.keySet && before.clusters.forall { case (id, work) =>
      val other = now.clusters(id)
      withoutOffsets(work) == withoutOffsets(other) && (work.staying -- other.staying).isEmpty &&
      (other.staying -- work.staying).isEmpty
    }

  private def withoutOffsets(work: ClusterTransition): ClusterTransition =
    work.copy(staying = Positions.empty)
}
