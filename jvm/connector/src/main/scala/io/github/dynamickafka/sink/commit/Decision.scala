package io.github.dynamickafka.sink.commit

import io.github.dynamickafka.sink.transaction.{Prepared, TaskTransactions}

/** The result for a decided batch, given the outcomes of its transactions. Pure. */
private[commit] sealed trait Decision extends Product with Serializable
private[commit] object Decision {
  case object Done extends Decision

  /** No transaction is committed, so the whole batch can be written again. */
  final case class Nothing(reason: String) extends Decision

  /** The outcome of a transaction is unknown, so the result is not known yet. */
  final case class Open(pending: Seq[Prepared], cause: Throwable) extends Decision
  final case class Partial(lost: Seq[(Prepared, String)]) extends Decision

  def of(outcomes: Seq[(Prepared, Outcome)]): Decision = {
    val pending = outcomes.collect { case (t, Outcome.Pending(cause)) => t -> cause }
    val lost = outcomes.collect { case (t, Outcome.Lost(reason)) => t -> reason }
    if (pending.nonEmpty) Open(pending.map(_._1), pending.head._2)
    else if (lost.isEmpty) Done
    else if (lost.size == outcomes.size) Nothing(s"${at(lost.head._1)}: ${lost.head._2}")
    else Partial(lost)
  }

  def at(t: Prepared): String =
    s"cluster '${t.cluster}', transaction '${t.transactionalId}' (task ${t.partition}, ${t.rows} records, topic " +
      s"${t.topics.mkString(", ")})"
}

/**
 * The parts of a batch that must be written again, because Kafka aborted them after the decision, while others are
 * committed.
 *
 * @param lost the number of records of the aborted parts, by (task, cluster)
 * @param kept the number of records of the committed parts, by (task, cluster)
 */
private[sink] final case class Replay(
    batch: Long,
    round: Int,
    lost: Map[(Int, String), Long],
    kept: Map[(Int, String), Long]
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

private[sink] object Replay {

  /** @param rounds all decisions of the batch so far; `lost` are the lost transactions of the last one */
  def next(rounds: Seq[JournalEntry], lost: Seq[Prepared]): Replay = {
    val last = rounds.last
    def places(ts: Seq[Prepared]) = ts.map(t => (t.partition, t.cluster) -> t.rows).toMap
    val gone = places(lost)
    Replay(last.batch, last.round + 1, gone, places(rounds.flatMap(_.transactions)) -- gone.keySet)
  }
}
