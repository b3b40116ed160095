package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

/**
 * @param leaders the node that leads each partition, or None for a partition without leader
 * @param id the topic id (KIP-516), if the broker gives one
 */
private[dynamickafka] final case class TopicAnswer(leaders: Map[Int, Option[Int]], id: Option[String] = None)

/**
 * @param epoch the epoch of the leader that responded (KIP-320), if the broker gives one
 * @param timestamp the time of the record, if offsets by time were requested and there is one
 */
private[dynamickafka] final case class ListedOffset(
    offset: Long,
    epoch: Option[Long] = None,
    timestamp: Option[Long] = None
)

/** The requests of the driver to one cluster, with one client of Kafka. Never blocks: results are futures. Thread-safe. */
private[dynamickafka] trait ClusterClient extends AutoCloseable {

  /** The `cluster.id` of Kafka (KIP-78), to find cluster ids of the metadata that refer to the same cluster. */
  def clusterId: CompletableFuture[String]

  /** All topics without the internal topics of Kafka. */
  def topics: CompletableFuture[Set[String]]

  def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]]

  def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]]

  /** The committed offsets of a consumer group. */
  def committed(group: String): CompletableFuture[Map[TopicPartition, Long]]

  /**
   * Commits offsets to a consumer group from outside of the group (KIP-396): the group must have no members. Requires
   * `READ` on the group and on each topic.
   */
  def commit(group: String, offsets: Map[TopicPartition, Long]): Map[TopicPartition, CompletableFuture[Unit]]

  /** Does not wait for pending requests, which fail if no other user shares the client. */
  override def close(): Unit

  /** This client does not get responses: who connects from now on gets another one. */
  def abandon(): Unit = ()
}
