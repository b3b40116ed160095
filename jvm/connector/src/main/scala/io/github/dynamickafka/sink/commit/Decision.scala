package io.github.dynamickafka.sink.commit

import io.github.dynamickafka.sink.transaction.Prepared

/** The result for a decided batch, given the outcomes of its transactions. Pure. */
private[commit] sealed trait Decision extends Product with Serializable
private[commit] object Decision {
  case object Done extends Decision

  /** No transaction is committed: if there was no earlier round, the whole batch can be written again. */
  final case class Nothing(lost: Seq[(Prepared, String)]) extends Decision {
    def reason: String = s"${at(lost.head._1)}: ${lost.head._2}"
  }

  /** The outcome of a transaction is unknown, so the result is not known yet. */
  final case class Open(pending: Seq[Prepared], cause: Throwable) extends Decision
  final case class Partial(lost: Seq[(Prepared, String)]) extends Decision

  def of(outcomes: Seq[(Prepared, Outcome)]): Decision = {
    val pending = outcomes.collect { case (t, Outcome.Pending(cause)) => t -> cause }
    val lost = outcomes.collect { case (t, Outcome.Lost(reason)) => t -> reason }
    if (pending.nonEmpty) Open(pending.map(_._1), pending.head._2)
    else if (lost.isEmpty) Done
    else if (lost.size == outcomes.size) Nothing(lost)
    else Partial(lost)
  }

  def at(t: Prepared): String =
    s"cluster '${t.cluster}', transaction '${t.transactionalId}' (task ${t.partition}, ${t.rows} records, topic " +
      s"${t.topics.mkString(", ")})"
}
