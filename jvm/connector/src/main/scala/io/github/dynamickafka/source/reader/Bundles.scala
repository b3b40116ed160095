package io.github.dynamickafka.source.reader

/**
 * Shares the ranges of a batch out to tasks. Pure.
 *
 * A partition is a task, as in Spark's own source, up to [[TasksPerCore]] tasks a core. Where there are more, those with
 * few records share tasks, since what a task costs is then the task and its consumer, not the records.
 */
private[source] object Bundles {
  val TasksPerCore = 4

  /** About ten milliseconds' work: more of it is never put together. */
  val SmallTask = 10000L

  /**
   * @param size records of a range
   * @param cores that the session has now
   * @return the ranges of each cluster in bundles; all of them, in their order
   */
  def apply[R](byCluster: Seq[Seq[R]], cores: Int)(size: R => Long): Seq[Seq[Seq[R]]] = {
    val tasks = math.max(1, cores) * TasksPerCore
    val all = byCluster.iterator.flatten.map(size)
    if (byCluster.iterator.map(_.size).sum <= tasks) byCluster.map(_.map(Seq(_)))
    else {
      val fill = math.min(SmallTask, math.max(1L, all.sum / tasks))
      byCluster.map(pack(_, fill)(size))
    }
  }

  private def pack[R](ranges: Seq[R], fill: Long)(size: R => Long): Seq[Seq[R]] =
    ranges.foldLeft(List.empty[(Long, List[R])]) {
      case ((full, last) :: before, range) if full + size(range) <= fill =>
        (full + size(range), range :: last) :: before
      case (bundles, range) => (size(range), List(range)) :: bundles
    }.map(_._2.reverse).reverse
}
