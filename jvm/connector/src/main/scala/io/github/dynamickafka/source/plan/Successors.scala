package io.github.dynamickafka.source.plan

import io.github.dynamickafka.source.read.RangeBundle

/**
 * Which tasks of a batch are likely to follow a task on its executor. Pure.
 *
 * Spark starts the tasks of an executor in their order, as many at a time as it has slots. Therefore with two slots
 * a task is followed by the second one after it, and so on. If the order differs, consumers are opened that are not used at
 * once.
 */
private[plan] object Successors {

  /** How many tasks ahead the clusters are looked for that a slot has not read yet: opening takes longer than reading. */
  val Waves = 3

  /**
   * Names in each bundle the next one, and of the following ones the first of each further cluster, so that a cluster has
   * been connected to when it is its turn.
   *
   * @param tasks a task for each, in their order
   * @param slots the tasks that an executor runs at a time
   * @param executors how many; 0 if all tasks run in this process
   */
  def apply(tasks: Seq[RangeBundle], slots: Int, executors: Int): Seq[RangeBundle] = {
    // Without a preferred location, any executor may run a task.
    val (placed, anywhere) = tasks.zipWithIndex.partition(executors == 0 || _._1.locations.nonEmpty)
    val byPlace = placed.groupBy(_._1.locations).values
    val named = byPlace.flatMap { ofPlace =>
      val inOrder = ofPlace.map(_._1).toIndexedSeq
      ofPlace.zipWithIndex.map { case ((bundle, index), i) =>
        val later = (1 to Waves).flatMap(wave => inOrder.lift(i + wave * math.max(1, slots)))
        val others = later.drop(1).filter(_.cluster != bundle.cluster)
        (bundle.copy(next = (later.take(1) ++ others).distinctBy(_.cluster)), index)
      }
    }
    (named ++ anywhere).toSeq.sortBy(_._2).map(_._1)
  }
}
