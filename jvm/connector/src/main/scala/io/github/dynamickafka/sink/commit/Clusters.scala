package io.github.dynamickafka.sink.commit

import io.github.dynamickafka.config.ProducerProperties
import io.github.dynamickafka.kafka.{ProducerSettings, Redaction}

/**
 * How the driver reaches the clusters of a batch, and those that decisions name although they have left the metadata.
 *
 * @param resolve the properties of a cluster that is not in the metadata, given what the journal knows of it
 */
private[sink] final class Clusters(
    resolve: (String, Map[String, String]) => ProducerProperties,
    requestTimeoutMs: Long,
    commitTimeoutMs: Long
) {
  import Clusters._

  private var current = Map.empty[String, ProducerProperties]
  private var admins = Map.empty[String, (ProducerProperties, TransactionAdmin)]

  /** Those of the metadata, from now on. */
  def set(properties: Map[String, ProducerProperties]): Unit = synchronized { current = properties }

  /** Those of a decision, which the metadata need not have. */
  def remember(entry: JournalEntry): Unit = synchronized {
    entry.clusters.foreach { case (id, known) =>
      if (!current.contains(id)) current += id -> resolve(id, known)
    }
  }

  def ids: Seq[String] = synchronized(current.keys.toSeq.sorted)

  def properties(id: String): ProducerProperties = synchronized(current(id))

  /** What of it may be stored. */
  def safe(id: String): Map[String, String] =
    Redaction.safe(properties(id).client.filterNot { case (name, _) => name == "client.id" })

  def admin(id: String): TransactionAdmin = synchronized {
    val wanted = current(id)
    admins.get(id) match {
      case Some((same, admin)) if same == wanted => admin
      case other =>
        other.foreach(_._2.close())
        val admin = new TransactionAdmin(wanted, math.min(requestTimeoutMs, LongestQuestionMs))
        admins += id -> (wanted -> admin)
        admin
    }
  }

  /** `transaction.max.timeout.ms` of the cluster's brokers; None where it may not be seen. */
  def maxTransactionTimeoutMs(id: String): Option[Long] = admin(id).maxTimeoutMs()

  /** The producers that commit: what they wait for is the commit, nothing else. */
  def committing(id: String): ProducerSettings =
    new ProducerSettings(id, properties(id).client).and(
      "max.block.ms" -> commitTimeoutMs.toString,
      "transaction.timeout.ms" -> CommitterTimeoutMs
    )

  def close(): Unit = synchronized {
    admins.values.foreach(_._2.close())
    admins = Map.empty
  }
}

private[commit] object Clusters {
  private val LongestQuestionMs = 15000L

  // They begin no transaction, so it is never sent.
  private val CommitterTimeoutMs = "10000"
}
