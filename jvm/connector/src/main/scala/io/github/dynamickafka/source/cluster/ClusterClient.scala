package io.github.dynamickafka.source.cluster

import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicBoolean
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}

/**
 * @param leaders the node that leads each partition, or None for a partition without leader
 * @param id the topic id (KIP-516), if the broker gives one
 */
private[source] final case class TopicAnswer(leaders: Map[Int, Option[Int]], id: Option[String] = None)

/** @param epoch the epoch of the leader that responded (KIP-320), if the broker gives one */
private[source] final case class ListedOffset(offset: Long, epoch: Option[Long] = None)

/** The requests of the driver to one cluster, with one client of Kafka. Never blocks: results are futures. Thread-safe. */
private[source] trait ClusterClient extends AutoCloseable {

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

/**
 * The clients of a driver. Queries and cluster ids with the same address, credentials and other properties share one, which is
 * closed with its last user. Thread-safe.
 */
private[source] final class SharedClients(open: ClusterConfig => ClusterClient) {
  private var shared = Map.empty[Map[String, String], Shared]

  /** May block, as opening a client does, but only users of the same client. */
  def connect(config: ClusterConfig): ClusterClient = {
    val key = config.properties.admin
    val found = synchronized {
      val entry = shared.getOrElse(key, new Shared(key))
      entry.users += 1
      shared += key -> entry
      entry
    }
    try new Handle(found, found.client(config))
    catch {
      case e: Throwable =>
        release(found)
        throw e
    }
  }

  private def release(entry: Shared): Unit = {
    val isLast = synchronized {
      entry.users -= 1
      if (entry.users == 0) drop(entry)
      entry.users == 0
    }
    if (isLast) entry.close()
  }

  private def drop(entry: Shared): Unit = synchronized {
    if (shared.get(entry.key).exists(_ eq entry)) shared -= entry.key
  }

  private final class Shared(val key: Map[String, String]) {
    var users = 0
    private var made: Option[ClusterClient] = None

    def client(config: ClusterConfig): ClusterClient = synchronized {
      made.getOrElse {
        val client = open(config)
        made = Some(client)
        client
      }
    }

    /** Without the lock: Kafka's client waits for the thread that reports to pending requests that it is closed. */
    def close(): Unit = synchronized(made).foreach(_.close())
  }

  /** The client as one of its users has it. */
  private final class Handle(entry: Shared, client: ClusterClient) extends ClusterClient {
    private val isClosed = new AtomicBoolean

    override def clusterId: CompletableFuture[String] = client.clusterId
    override def topics: CompletableFuture[Set[String]] = client.topics
    override def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] =
      client.describe(topics)
    override def offsets(
        specs: Map[TopicPartition, OffsetSpec],
        isolation: IsolationLevel
    ): Map[TopicPartition, CompletableFuture[ListedOffset]] = client.offsets(specs, isolation)
    override def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] =
      client.committed(group)
    override def commit(
        group: String,
        offsets: Map[TopicPartition, Long]
    ): Map[TopicPartition, CompletableFuture[Unit]] = client.commit(group, offsets)
    override def close(): Unit = if (isClosed.compareAndSet(false, true)) release(entry)
    override def abandon(): Unit = drop(entry)
  }
}

private[source] object SharedClients {
  val OfDriver: SharedClients = new SharedClients(new AdminClusterClient(_))
}

/** A [[ClusterClient]] with Kafka's admin client. Opening it resolves addresses, which may block or fail. */
private[source] final class AdminClusterClient(config: ClusterConfig) extends ClusterClient {
  private val admin = Admin.create(new ju.HashMap[String, AnyRef](config.properties.admin.asJava))

  override def clusterId: CompletableFuture[String] = future(admin.describeCluster().clusterId())

  override def topics: CompletableFuture[Set[String]] =
    future(admin.listTopics().names()).thenApply[Set[String]](_.asScala.toSet)

  override def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] =
    admin.describeTopics(topics.asJava).topicNameValues.asScala.toMap.map { case (topic, description) =>
      topic -> future(description).thenApply[TopicAnswer] { found =>
        val leaders = found.partitions.asScala.map { p =>
          p.partition -> Option(p.leader).filterNot(_.isEmpty).map(_.id)
        }
        // Brokers without topic ids give a zero id.
        TopicAnswer(leaders.toMap, Option(found.topicId).filterNot(_ == Uuid.ZERO_UUID).map(_.toString))
      }
    }

  override def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]] = {
    val result = admin.listOffsets(specs.asJava, new ListOffsetsOptions(isolation))
    specs.keysIterator.map { tp =>
      tp -> future(result.partitionResult(tp)).thenApply[ListedOffset] { found =>
        // Brokers without epochs give none, or -1.
        ListedOffset(found.offset, found.leaderEpoch.toScala.map(_.toLong).filter(_ >= 0))
      }
    }.toMap
  }

  override def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] =
    future(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata)
      .thenApply[Map[TopicPartition, Long]](_.asScala.collect {
        case (tp, found) if found != null => tp -> found.offset
      }.toMap)

  override def commit(
      group: String,
      offsets: Map[TopicPartition, Long]
  ): Map[TopicPartition, CompletableFuture[Unit]] = {
    val positions = offsets.map { case (tp, at) => tp -> new OffsetAndMetadata(at) }
    val result = admin.alterConsumerGroupOffsets(group, positions.asJava)
    offsets.keysIterator.map(tp =>
      tp -> future(result.partitionResult(tp)).thenApply[Unit](_ => ())
    ).toMap
  }

  override def close(): Unit = admin.close(Duration.ZERO)

  /** A future that can be completed by a time limit, which Kafka's own and all that are derived from them cannot. */
  private def future[A](f: KafkaFuture[A]): CompletableFuture[A] = {
    val own = new CompletableFuture[A]
    f.whenComplete { (value, error) =>
      val _ = if (error == null) own.complete(value) else own.completeExceptionally(error)
    }
    own
  }
}
