package io.github.dynamickafka.source.realtime

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, Positions}

/**
 * The positions that a task has reached, by cluster.
 *
 * @param epochs the leader epochs of the records right below these positions, as far as they are known
 * @param latencies of the records that the task has not reported before, as [[LatencyRecorder.take]]
 */
private[source] final case class TaskPositions(
    clusters: SortedMap[String, Positions],
    epochs: SortedMap[String, Positions],
    latencies: Seq[(String, Array[Long])] = Nil
)

private[source] object TaskPositions {

  /**
   * The start offset of a batch, moved to the positions that tasks have reported, in whatever order. What no task has reported stays
   * where it is: clusters without a task, partitions of a task that has not ended, retained and draining positions. A position
   * never moves back.
   */
  def reached(start: CompositeOffset, reported: Seq[TaskPositions]): CompositeOffset =
    reported.foldLeft(start) { (offset, task) =>
      task.clusters.foldLeft(offset) { case (at, (id, positions)) =>
        val known = at.position(id)
        val moved = Positions.from(positions.iterator.filter { case (topic, p, to) =>
          known.get(topic, p).exists(_ < to)
        })
        if (moved.isEmpty) at
        else {
          val identity = at.identity(id)
          // That of the position before is too low for records of a later leader below this one.
          val epochs = (identity.epochs -- moved) ++ task.epochs.getOrElse(id, Positions.empty).at(moved)
          at.copy(
            clusters = at.clusters.updated(id, known ++ moved),
            identities = withIdentity(at, id, identity.copy(epochs = epochs))
          )
        }
      }
    }

  private def withIdentity(at: CompositeOffset, id: String, identity: ClusterIdentity) =
    if (identity.isEmpty) at.identities - id else at.identities.updated(id, identity)
}
