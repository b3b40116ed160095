package io.github.dynamickafka.sink.commit

/**
 * The parts of a batch that must be written again, because Kafka aborted them after the decision, while others are
 * committed.
 *
 * @param lost the number of records of the aborted parts, by (task, cluster)
 * @param kept the number of records of the committed parts, by (task, cluster)
 * @param leftOut the clusters that were left out of the batch
 */
private[sink] final case class LostParts(
    batch: Long,
    round: Int,
    lost: Map[(Int, String), Long],
    kept: Map[(Int, String), Long],
    leftOut: Set[String] = Set.empty
) {
  def writes(partition: Int, cluster: String): Boolean = lost.contains((partition, cluster))

  /** The difference between the rows of these tasks and of the first ones; None if their numbers are equal. */
  def difference(tasks: Seq[TaskTransactions]): Option[String] = {
    val written = tasks.flatMap(_.prepared).map(t => (t.partition, t.cluster) -> t.rows).toMap
    val withheld =
      tasks.flatMap(t => t.withheld.map { case (cluster, rows) => (t.partition, cluster) -> rows })
    def compare(what: Map[(Int, String), Long], now: Map[(Int, String), Long]) =
      (what.keySet ++ now.keySet).toSeq.sorted.find(k => what.get(k) != now.get(k)).map {
        case k @ (task, cluster) =>
          s"task $task has ${now.getOrElse(k, 0L)} records for cluster '$cluster', but had ${what.getOrElse(k, 0L)} before."
      }
    compare(lost, written).orElse(compare(kept, withheld.toMap))
  }
}

private[sink] object LostParts {

  /** @param rounds all decisions of the batch so far; of the last one, `lost` is lost */
  def next(rounds: Seq[JournalEntry], lost: Seq[Prepared]): LostParts = {
    val last = rounds.last
    def places(ts: Seq[Prepared]) = ts.map(t => (t.partition, t.cluster) -> t.rows).toMap
    val gone = places(lost)
    LostParts(
      last.batch,
      last.round + 1,
      gone,
      places(rounds.flatMap(_.transactions)) -- gone.keySet,
      last.leftOut
    )
  }
}
