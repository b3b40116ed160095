package io.github.dynamickafka.sink.operate

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.sink.commit.{Clusters, Outcome, Prepared}

/** What is known of transactions, in words. */
private[sink] object States {

  def of(outcome: Outcome): String = outcome match {
    case Outcome.Open => "open"
    case Outcome.Committed => "committed"
    case Outcome.Lost(_) => "aborted"
    case Outcome.Unknown(_) => "unknown"
    case p: Outcome.Pending => if (p.isLeaderless) "open" else "unreachable"
  }

  def byId(outcomes: Seq[(Prepared, Outcome)]): Map[String, String] =
    outcomes.map { case (t, outcome) => t.transactionalId -> of(outcome) }.toMap

  /** Why states are not known, each reason once. */
  def reasons(clusters: Clusters, outcomes: Seq[(Prepared, Outcome)]): Seq[String] = outcomes.collect {
    case (t, p: Outcome.Pending) if p.isLeaderless => s"cluster '${t.cluster}': ${p.cause.getMessage}"
    case (t, Outcome.Pending(cause)) =>
      s"cluster '${t.cluster}' is unreachable: ${reason(clusters, t.cluster, cause)}"
    case (t, Outcome.Unknown(text)) => s"transaction '${t.transactionalId}' is unknown: $text"
  }.distinct

  /** The failure of a request to a cluster, without its secrets. */
  def reason(clusters: Clusters, id: String, cause: Throwable): String = {
    val properties = clusters.properties(id)
    val secrets = properties.client ++ properties.admin
    s"${properties.bootstrapServers}: ${FailureText.of(Redaction.scrub(cause, secrets))}"
  }
}
