package io.github.dynamickafka.source.plan

/**
 * Distributes the ranges of a batch over tasks. Pure.
 *
 * A partition is a task, as in Spark's Kafka source, up to [[TasksPerCore]] tasks per core. With more partitions, those
 * with few records share tasks, because the overhead of the task and its consumer would exceed the cost of reading the
 * records.
 */
private[source] object Bundles {
  val TasksPerCore = 4

  /** The maximum number of records of a task with several ranges; reading them takes about 10 ms. */
  val SmallTask = 10000L

  /**
   * @param size the number of records of a range
   * @param cores the current number of cores of the session
   * @return the ranges of each cluster in bundles, in the same order
   */
  def apply[R](byCluster: Seq[Seq[R]], cores: Int)(size: R => Long): Seq[Seq[Seq[R]]] = {
    val all = byCluster.flatten
    if (all.size <= tasks(cores)) byCluster.map(_.map(Seq(_)))
    else {
      val full = fill(all.map(size), cores)
      byCluster.map(pack(_, full, all.size)(size))
    }
  }

  /**
   * Combines bundles of several clusters in one task, if there are more bundles than tasks that are worthwhile.
   *
   * @param size the number of records of a bundle
   * @param cores the current number of cores of the session
   * @param place the preferred location of a bundle: only bundles with the same location share a task
   * @return all bundles, grouped by task; those of one location in the same order
   */
  def shared[B](bundles: Seq[B], cores: Int)(size: B => Long, place: B => Any): Seq[Seq[B]] =
    if (bundles.size <= tasks(cores)) bundles.map(Seq(_))
    else {
      // Connecting to clusters dominates the time, so the number of bundles per task is limited too.
      val most = (bundles.size + tasks(cores) - 1) / tasks(cores)
      val full = fill(bundles.map(size), cores)
      val byPlace = bundles.groupBy(place)
      bundles.map(place).distinct.flatMap(at => pack(byPlace(at), full, most)(size))
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
