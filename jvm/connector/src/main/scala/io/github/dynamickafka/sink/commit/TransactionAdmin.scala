package io.github.dynamickafka.sink.commit

import scala.annotation.unused
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{TransactionDescription, TransactionState}
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.kafka.TopicLimits

/** The driver's requests about transactions to one cluster. Waits for the responses. */
private[sink] trait TransactionAdmin {

  /** Whether the client is still being made. Another one would hang as well. */
  def isBeingMade: Boolean = false

  /** Whether the client could not be made, so that another one reads the credentials again. */
  def isBroken: Boolean = false

  /** Fails if the cluster does not answer a question, about nothing in particular, within the time limit. */
  def respond(@unused timeoutMs: Long): Unit = {
    val _ = describe(Nil, Set.empty)
  }

  /** `transaction.max.timeout.ms` of the brokers; None without authorization to describe it. */
  def maxTimeoutMs(): Option[Long]

  /** Of these topics, as far as they exist and may be described. */
  def topicLimits(@unused topics: Set[String]): Map[String, TopicLimits] = Map.empty

  /** What Kafka knows about these transactional ids and the partitions of these topics, all of them at once. */
  def describe(transactionalIds: Seq[String], topics: Set[String]): Seen

  /** The ids of the producers that have a transaction open in these partitions, according to the leaders. */
  def openIn(partitions: Set[TopicPartition]): Map[TopicPartition, Set[Long]]

  /** The ids of open transactions. */
  def open(matching: String => Boolean): Seq[String]

  /** Aborts the open transactions of these ids and fences their producers. */
  def fence(transactionalIds: Seq[String]): Unit
  def close(): Unit
}

/**
 * @param clusterId Kafka's id of the cluster; None: it has none
 * @param known by transactional id; an id that Kafka does not know is missing
 * @param inSync the number of replicas that are in sync, by partition; 0: the partition has no leader
 * @param topicIds Kafka's ids of the topics: one that is recreated has another one
 */
private[sink] final case class Seen(
    clusterId: Option[String],
    known: Map[String, TransactionDescription],
    inSync: Map[TopicPartition, Int] = Map.empty,
    topicIds: Map[String, String] = Map.empty
) {

  /** The partitions that a transaction has written to. */
  def partitions(transactionalId: String): Option[Set[TopicPartition]] =
    known.get(transactionalId).map(_.topicPartitions.asScala.toSet)

  /** The partitions of the transactions, or all of their topics: after the end of a transaction Kafka forgets its own. */
  def inSyncWritten: Map[TopicPartition, Int] =
    if (known.values.exists(_.state != TransactionState.ONGOING)) inSync
    else inSync -- (inSync.keySet -- known.values.flatMap(_.topicPartitions.asScala))

  def leaderless: Set[TopicPartition] = inSync.collect { case (partition, 0) => partition }.toSet
}
