package io.github.dynamickafka.source.plan

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
    val all = byCluster.flatten
    if (all.size <= tasks(cores)) byCluster.map(_.map(Seq(_)))
    else byCluster.map(pack(_, fill(all.map(size), cores), all.size)(size))
  }

  /**
   * Has bundles of several clusters share a task, where there are more than are worth a task each.
   *
   * @param size records of a bundle
   * @param cores that the session has now
   * @param place where a bundle should be read: those of two places do not share
   * @return all bundles, those of one place in their order
   */
  def shared[B](bundles: Seq[B], cores: Int)(size: B => Long, place: B => Any): Seq[Seq[B]] =
    if (bundles.size <= tasks(cores)) bundles.map(Seq(_))
    else {
      // Clusters are what takes the time there, so none of the tasks gets nearly all of them.
      val most = (bundles.size + tasks(cores) - 1) / tasks(cores)
      val full = fill(bundles.map(size), cores)
      bundles.map(place).distinct.flatMap(at => pack(bundles.filter(place(_) == at), full, most)(size))
    }

  private def tasks(cores: Int): Int = math.max(1, cores) * TasksPerCore

  private def fill(sizes: Seq[Long], cores: Int): Long =
    math.min(SmallTask, math.max(1L, sizes.sum / tasks(cores)))

  private def pack[A](all: Seq[A], fill: Long, most: Int)(size: A => Long): Seq[Seq[A]] =
    all.foldLeft(List.empty[(Long, List[A])]) {
      case ((full, last) :: before, next) if full + size(next) <= fill && last.size < most =>
        (full + size(next), next :: last) :: before
      case (packs, next) => (size(next), List(next)) :: packs
    }.map(_._2.reverse).reverse
}
