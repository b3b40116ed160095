package io.github.dynamickafka.sink.commit

import scala.annotation.unused

import org.apache.kafka.clients.admin.TransactionDescription

/** The driver's requests about transactions to one cluster. Waits for the responses. */
private[sink] trait TransactionAdmin {

  /** Fails if the cluster does not answer a question, about nothing in particular, within the time limit. */
  def respond(@unused timeoutMs: Long): Unit = {
    val _ = look(Nil)
  }

  /** `transaction.max.timeout.ms` of the brokers; None without authorization to describe it. */
  def maxTimeoutMs(): Option[Long]

  /** What Kafka knows about these transactional ids, all of them at once. */
  def look(transactionalIds: Seq[String]): Seen

  /** The ids of open transactions. */
  def open(matching: String => Boolean): Seq[String]

  /** Aborts the open transactions of these ids and fences their producers. */
  def fence(transactionalIds: Seq[String]): Unit
  def close(): Unit
}

/**
 * @param clusterId Kafka's id of the cluster; None: it has none
 * @param known by transactional id; an id that Kafka does not know is missing
 */
private[sink] final case class Seen(clusterId: Option[String], known: Map[String, TransactionDescription])
