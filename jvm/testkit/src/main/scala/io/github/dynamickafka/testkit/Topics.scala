package io.github.dynamickafka.testkit

import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin._
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.errors._
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition}

/**
 * The topics of one cluster. Methods that change something return when the change is visible to clients of every running
 * node.
 *
 * @param running the nodes that are expected to respond
 */
private[testkit] final class Topics(bootstrapServers: String, running: () => Seq[KafkaNode])
    extends AutoCloseable {
  import AdminClients.result
  import Topics._

  private val admin = AdminClients.open(bootstrapServers)

  /** @param replicas the ids of the nodes that store each partition, or none if Kafka chooses them */
  def create(name: String, partitions: Int, configs: Map[String, String], replicas: Seq[Int]): Unit = {
    val topic = newTopic(name, partitions, replicas).configs(configs.asJava)
    val existed = names().contains(name)
    // A broker that has just started, or whose heartbeats were late on a busy machine, is fenced temporarily.
    Poll.until(s"a broker that takes topic $name")(isCreated(topic, existed))
    awaitPartitions(name, partitions)
  }

  private def newTopic(name: String, partitions: Int, replicas: Seq[Int]): NewTopic =
    if (replicas.isEmpty)
      new NewTopic(name, Optional.of(Int.box(partitions)), Optional.empty[java.lang.Short])
    else {
      val nodes = replicas.map(Int.box).asJava
      new NewTopic(name, (0 until partitions).map(p => Int.box(p) -> nodes).toMap.asJava)
    }

  private def isCreated(topic: NewTopic, existed: Boolean): Boolean =
    try {
      result(admin.createTopics(Seq(topic).asJava).all())
      true
    } catch {
      case _: InvalidReplicationFactorException | _: InvalidReplicaAssignmentException => false
      // The client repeats a request whose response it did not receive, as in the failover of a controller.
      case _: TopicExistsException if !existed => true
    }

  def delete(name: String): Unit = {
    result(admin.deleteTopics(Seq(name).asJava).all())
    awaitAgreement(s"topic $name is deleted", _ == name)(_.isEmpty)
    ()
  }

  def addPartitions(name: String, total: Int): Unit = {
    result(admin.createPartitions(Map(name -> NewPartitions.increaseTo(total)).asJava).all())
    awaitPartitions(name, total)
  }

  /** All topics without the internal topics of Kafka. */
  def names(): Set[String] = result(admin.listTopics().names()).asScala.toSet

  def partitions(name: String): Seq[TopicPartition] =
    describe(name).partitions.asScala.map(p => new TopicPartition(name, p.partition)).toSeq

  def offsets(
      name: String,
      spec: OffsetSpec,
      isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
  ): Map[Int, Long] = {
    val asked = partitions(name).map(_ -> spec).toMap
    val options = new ListOffsetsOptions(isolation).timeoutMs(AttemptMs)
    repeated(admin.listOffsets(asked.asJava, options).all()).asScala.map { case (partition, found) =>
      partition.partition -> found.offset
    }.toMap
  }

  def deleteRecords(name: String, partition: Int, beforeOffset: Long): Unit = {
    val asked = Map(new TopicPartition(name, partition) -> RecordsToDelete.beforeOffset(beforeOffset))
    repeated(admin.deleteRecords(asked.asJava, new DeleteRecordsOptions().timeoutMs(AttemptMs)).all())
    ()
  }

  def commitOffsets(group: String, topic: String, offsets: Map[Int, Long]): Unit = {
    val positions = offsets.map { case (p, o) => new TopicPartition(topic, p) -> new OffsetAndMetadata(o) }
    val options = new AlterConsumerGroupOffsetsOptions().timeoutMs(AttemptMs)
    val _ = repeated(admin.alterConsumerGroupOffsets(group, positions.asJava, options).all())
  }

  def committedOffsets(group: String): Map[String, Map[Int, Long]] = {
    val options = new ListConsumerGroupOffsetsOptions().timeoutMs(AttemptMs)
    repeated(admin.listConsumerGroupOffsets(group, options).partitionsToOffsetAndMetadata()).asScala.toSeq
      .collect { case (partition, committed) if committed != null => partition -> committed.offset }
      .groupMap { case (partition, _) => partition.topic } { case (partition, offset) =>
        partition.partition -> offset
      }
      .view
      .mapValues(_.toMap)
      .toMap
  }

  /** Where a partition is, as all running nodes know it. */
  def placement(name: String, partition: Int): Placement =
    awaitAgreement(s"placement of $name", _ == name)(_ => true).getOrElse(
      new TopicPartition(name, partition),
      throw new UnknownTopicOrPartitionException(s"$name-$partition")
    )

  /** The id of the active controller. */
  def controller(): Int = {
    var leader = -1
    Poll.until(s"one of the nodes ${running().mkString(", ")} is the active controller") {
      try {
        leader = result(admin.describeMetadataQuorum().quorumInfo()).leaderId
        running().exists(_.id == leader)
      } catch { case _: RetriableException => false }
    }
    leader
  }

  /**
   * Returns when the running nodes have joined the cluster, and serve and replicate all partitions of which one of them has
   * a complete replica, including those of internal topics.
   */
  def awaitAll(): Unit = {
    val options = new DescribeClusterOptions().timeoutMs(AttemptMs)
    Poll.until(s"the nodes ${running().mkString(", ")} are registered") {
      val registered = repeated(admin.describeCluster(options).nodes()).asScala.map(_.id).toSet
      running().forall(node => registered(node.id))
    }
    awaitAgreement("all partitions have a leader, and running replicas are in sync", _ => true) {
      _.values.forall(p => (p.inSync & ids).isEmpty || isServed(p))
    }
    ()
  }

  override def close(): Unit = admin.close()

  private def awaitPartitions(name: String, count: Int): Unit = {
    awaitAgreement(s"topic $name has $count partitions", _ == name) { found =>
      found.size == count && found.values.forall(isServed)
    }
    // The metadata is updated before the logs are created.
    offsets(name, OffsetSpec.latest())
    ()
  }

  private def isServed(p: Placement): Boolean =
    p.leader.exists(ids) && (p.replicas & ids).subsetOf(p.inSync)

  private def ids: Set[Int] = running().map(_.id).toSet

  /** Waits until all running nodes know the same partitions of the chosen topics, and these satisfy a condition. */
  private def awaitAgreement(what: String, topics: String => Boolean)(
      condition: Partitions => Boolean
  ): Partitions = {
    var known = Map.empty[Int, Partitions]
    Poll.until(s"$what; known by each node: $known") {
      try {
        known = running().map { node =>
          node.id -> NodeMetadata.of(node.directAddress).filter { case (p, _) => topics(p.topic) }
        }.toMap
        known.values.toSet.size == 1 && condition(known.head._2)
      } catch { case _: TimeoutException => false }
    }
    known.head._2
  }

  /**
   * Repeats a request: after a failover Kafka's admin client still waits for the former leader or coordinator, or for a node that
   * was frozen, until the time limit of the call.
   */
  private def repeated[A](call: => KafkaFuture[A]): A = {
    var response: Option[A] = None
    Poll.until(s"a response from the nodes ${running().mkString(", ")}") {
      try {
        response = Some(result(call))
        true
      } catch { case _: TimeoutException => false }
    }
    response.get
  }

  private def describe(name: String): TopicDescription =
    repeated(
      admin.describeTopics(Seq(name).asJava, new DescribeTopicsOptions().timeoutMs(AttemptMs)).allTopicNames()
    ).get(name)
}

private[testkit] object Topics {
  private val AttemptMs = 15000

  private type Partitions = Map[TopicPartition, Placement]
}
