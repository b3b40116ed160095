package io.github.dynamickafka.source.realtime

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, Positions}
import io.github.dynamickafka.source.read.RangeBundle

/**
 * What one task of a batch in real-time mode reads: any number of clusters, perhaps none.
 *
 * @param bundles one for each cluster
 * @param batch tells when the batch ends
 * @param skipUnreachable whether to wait for clusters to which no connection can be opened
 */
private[source] final case class RealTimeTask(
    bundles: Seq[RangeBundle],
    batch: BatchAddress,
    skipUnreachable: Boolean
) extends InputPartition {

  override def toString: String = bundles.mkString("RealTimeTask(", ", ", ")")
}

/** The end of a batch as a task asks for it: the endpoint of the query in the driver, and the number of the batch there. */
private[source] final case class BatchAddress(endpoint: String, batch: Long)

private[realtime] object RealTimeTasks {

  /**
   * Divides ranges into at most `count` parts of about the same size, in the same order, so that those of a cluster are in few
   * parts. There is at least one, which may be empty: without a task, a batch would end at once.
   */
  def divide[A](ranges: Seq[A], count: Int): Seq[Seq[A]] =
    if (ranges.isEmpty) Seq(Nil)
    else {
      val parts = math.min(math.max(1, count), ranges.size)
      def from(part: Int) = (part.toLong * ranges.size / parts).toInt
      (0 until parts).map(i => ranges.slice(from(i), from(i + 1)))
    }
}

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
          // The epoch of the position before is too low for records of a later leader below this position.
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
