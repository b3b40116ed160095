package io.github.dynamickafka.sink.commit

import io.github.dynamickafka.sink.transaction.{Prepared, TaskTransactions}

/**
 * Parts of a batch that are to be written again: those that Kafka aborted after the batch was decided, while others are
 * committed.
 *
 * @param lost by (task, cluster), with the records that were in them
 * @param kept those that are committed, likewise
 */
private[sink] final case class LostParts(
    batch: Long,
    round: Int,
    lost: Map[(Int, String), Long],
    kept: Map[(Int, String), Long]
) {
  def writes(partition: Int, cluster: String): Boolean = lost.contains((partition, cluster))

  /** Why these tasks did not get the rows that the first ones got; None: they did, as far as can be told. */
  def difference(tasks: Seq[TaskTransactions]): Option[String] = {
    val written = tasks.flatMap(_.prepared).map(t => (t.partition, t.cluster) -> t.rows).toMap
    val withheld =
      tasks.flatMap(t => t.withheld.map { case (cluster, rows) => (t.partition, cluster) -> rows })
    def compare(what: Map[(Int, String), Long], now: Map[(Int, String), Long]) =
      (what.keySet ++ now.keySet).toSeq.sorted.find(k => what.get(k) != now.get(k)).map {
        case k @ (task, cluster) =>
          s"task $task has ${now.getOrElse(k, 0L)} records for cluster '$cluster', and had ${what.getOrElse(k, 0L)}."
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
    LostParts(last.batch, last.round + 1, gone, places(rounds.flatMap(_.transactions)) -- gone.keySet)
  }
}
