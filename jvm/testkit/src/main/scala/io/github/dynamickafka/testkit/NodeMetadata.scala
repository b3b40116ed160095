package io.github.dynamickafka.testkit

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.consumer.{ConsumerConfig, KafkaConsumer}
import org.apache.kafka.common.serialization.StringDeserializer
import org.apache.kafka.common.{Node, PartitionInfo, TopicPartition}

/** The nodes that store a partition, by id. */
private[testkit] final case class Placement(leader: Option[Int], replicas: Set[Int], inSync: Set[Int])

/** The partitions that one node knows. Nodes learn of a change at different times. */
private[testkit] object NodeMetadata {

  /** How long [[of]] waits for a node. */
  private val TimeoutMs = 10000

  /**
   * All partitions that the node at this address knows, including those of internal topics.
   *
   * @throws org.apache.kafka.common.errors.TimeoutException if the node does not respond
   */
  def of(address: String): Map[TopicPartition, Placement] = {
    val properties = Map[String, AnyRef](
      ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG -> address,
      ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG -> TimeoutMs.toString,
      ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG -> TimeoutMs.toString
    )
    // Any other client, and a consumer that was used before, may send the request to another node that it has discovered.
    Using.resource(new KafkaConsumer(properties.asJava, new StringDeserializer, new StringDeserializer)) {
      _.listTopics().values.asScala.flatMap(_.asScala).map { p =>
        new TopicPartition(p.topic, p.partition) -> placement(p)
      }.toMap
    }
  }

  private def placement(p: PartitionInfo): Placement =
    Placement(
      Option(p.leader).filterNot(_.isEmpty).map(_.id),
      ids(p.replicas),
      ids(p.inSyncReplicas)
    )

  private def ids(nodes: Array[Node]): Set[Int] = nodes.map(_.id).toSet
}
