package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionDescription

/** The driver's requests about transactions to one cluster. Waits for the responses. */
private[commit] trait TransactionAdmin {

  /** `transaction.max.timeout.ms` of the brokers; None without authorization to describe it. */
  def maxTimeoutMs(): Option[Long]

  /** None if the transactional id does not exist in Kafka. */
  def describe(transactionalId: String): Option[TransactionDescription]

  /** The ids of open transactions. */
  def open(matching: String => Boolean): Seq[String]

  /** Aborts the open transactions of these ids and fences their producers. */
  def fence(transactionalIds: Seq[String]): Unit
  def close(): Unit
}
