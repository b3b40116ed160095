package io.github.dynamickafka.testkit

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin._
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.errors.{InvalidReplicationFactorException, UnknownTopicOrPartitionException}
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

/** The topics of one cluster. Methods that change something return when the change is visible to clients. */
private[testkit] final class Topics(bootstrapServers: String) extends AutoCloseable {
  import AdminClients.result

  private val admin = AdminClients.open(bootstrapServers)

  def create(name: String, partitions: Int, configs: Map[String, String]): Unit = {
    val topic = new NewTopic(name, partitions, 1.toShort).configs(configs.asJava)
    // A broker that has just started, or whose heartbeats were late on a busy machine, is fenced temporarily.
    Poll.until(s"a broker that takes topic $name")(isCreated(topic))
    awaitPartitions(name, partitions)
  }

  private def isCreated(topic: NewTopic): Boolean =
    try {
      result(admin.createTopics(Seq(topic).asJava).all())
      true
    } catch { case _: InvalidReplicationFactorException => false }

  def delete(name: String): Unit = {
    result(admin.deleteTopics(Seq(name).asJava).all())
    Poll.until(s"topic $name is deleted")(!names().contains(name))
  }

  def addPartitions(name: String, total: Int): Unit = {
    result(admin.createPartitions(Map(name -> NewPartitions.increaseTo(total)).asJava).all())
    awaitPartitions(name, total)
  }

  /** All topics without the internal topics of Kafka. */
  def names(): Set[String] = result(admin.listTopics().names()).asScala.toSet

  def partitions(name: String): Seq[TopicPartition] =
    describe(Seq(name))(name).partitions.asScala.map(p => new TopicPartition(name, p.partition)).toSeq

  def offsets(
      name: String,
      spec: OffsetSpec,
      isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
  ): Map[Int, Long] = {
    val asked = partitions(name).map(_ -> spec).toMap
    result(admin.listOffsets(asked.asJava, new ListOffsetsOptions(isolation)).all()).asScala.map {
      case (partition, found) =>
        partition.partition -> found.offset
    }.toMap
  }

  def deleteRecords(name: String, partition: Int, beforeOffset: Long): Unit = {
    val asked = Map(new TopicPartition(name, partition) -> RecordsToDelete.beforeOffset(beforeOffset))
    result(admin.deleteRecords(asked.asJava).all())
    ()
  }

  def commitOffsets(group: String, topic: String, offsets: Map[Int, Long]): Unit = {
    val positions = offsets.map { case (p, o) => new TopicPartition(topic, p) -> new OffsetAndMetadata(o) }
    val _ = result(admin.alterConsumerGroupOffsets(group, positions.asJava).all())
  }

  def committedOffsets(group: String): Map[String, Map[Int, Long]] =
    result(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()).asScala.toSeq
      .collect { case (partition, committed) if committed != null => partition -> committed.offset }
      .groupMap { case (partition, _) => partition.topic } { case (partition, offset) =>
        partition.partition -> offset
      }
      .view
      .mapValues(_.toMap)
      .toMap

  /** Returns when the broker serves all its partitions, including those of internal topics. */
  def awaitAll(): Unit = {
    Poll.until(s"a broker at $bootstrapServers")(!result(admin.describeCluster().nodes()).isEmpty)
    val all = result(admin.listTopics(new ListTopicsOptions().listInternal(true)).names()).asScala.toSeq
    Poll.until(s"all partitions at $bootstrapServers have a leader")(describe(all).values.forall(isServed))
  }

  override def close(): Unit = admin.close()

  private def awaitPartitions(name: String, count: Int): Unit = {
    Poll.until(s"topic $name has $count partitions") {
      try {
        val topic = describe(Seq(name))(name)
        topic.partitions.size == count && isServed(topic)
      } catch {
        case _: UnknownTopicOrPartitionException => false
      }
    }
    // The metadata is updated before the logs are created.
    offsets(name, OffsetSpec.latest())
    ()
  }

  private def isServed(topic: TopicDescription): Boolean =
    topic.partitions.asScala.forall(p => p.leader != null && !p.leader.isEmpty)

  private def describe(names: Seq[String]): Map[String, TopicDescription] =
    result(admin.describeTopics(names.asJava).allTopicNames()).asScala.toMap
}
