package io.github.dynamickafka.source.client

import java.util.concurrent.CompletableFuture
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

/**
 * The clients of a driver. Queries and cluster ids with the same address, credentials and other properties share one, which is
 * closed with its last user. Thread-safe.
 */
private[source] final class SharedClients(open: Map[String, String] => ClusterClient) {
  private var shared = Map.empty[Map[String, String], Shared]

  /**
   * May block, as opening a client does, but only users of the same client.
   *
   * @param properties the properties of Kafka's admin client
   */
  def connect(properties: Map[String, String]): ClusterClient = {
    val found = synchronized {
      val entry = shared.getOrElse(properties, new Shared(properties))
      entry.users += 1
      shared += properties -> entry
      entry
    }
    try new Handle(found, found.client())
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

    def client(): ClusterClient = synchronized {
      made.getOrElse {
        val client = new MergingClient(open(key))
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
