package io.github.dynamickafka.source.cluster

import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{CompletableFuture, TimeUnit}

import scala.util.control.NonFatal

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

/** A client that several users share: what they ask often is sent together, and the rest as they ask it. */
private[cluster] final class MergingClient(client: ClusterClient) extends ClusterClient {
  import MergingClient._

  private val ids = new MergedRequests[Unit, String](_ => Map(() -> client.clusterId))
  private val names = new MergedRequests[Unit, Set[String]](_ => Map(() -> client.topics))
  private val descriptions = new MergedRequests[String, TopicAnswer](client.describe)

  private val listings = {
    for { isolation <- IsolationLevel.values.toSeq; end <- Ends } yield {
      def send(tps: Set[TopicPartition]) = client.offsets(tps.iterator.map(_ -> end).toMap, isolation)
      (isolation, end: AnyRef) -> new MergedRequests[TopicPartition, ListedOffset](send)
    }
  }.toMap

  override def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] =
    descriptions(topics)

  override def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]] =
    specs.groupBy { case (_, spec) => endOf(spec) }.flatMap {
      case (Some(end), wanted) => listings((isolation, end))(wanted.keySet)
      case (None, wanted) => client.offsets(wanted, isolation)
    }

  override def clusterId: CompletableFuture[String] = ids(Set(()))(())
  override def topics: CompletableFuture[Set[String]] = names(Set(()))(())

  override def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] =
    client.committed(group)
  override def commit(
      group: String,
      offsets: Map[TopicPartition, Long]
  ): Map[TopicPartition, CompletableFuture[Unit]] = client.commit(group, offsets)
  override def close(): Unit = client.close()
  override def abandon(): Unit = client.abandon()
}

private object MergingClient {

  /** Kafka's specifications have no equality. */
  private val Ends: Seq[OffsetSpec] = Seq(OffsetSpec.latest, OffsetSpec.earliest)

  private def endOf(spec: OffsetSpec): Option[OffsetSpec] = Ends.find(_.getClass == spec.getClass)
}

/**
 * Requests of one kind to one cluster by several users of a client. While one is pending, later ones wait and are sent as
 * one: Kafka's admin client has one request at a time on its way to each broker, so that the responses to many requests
 * to a distant cluster would come one round trip after another. Thread-safe.
 *
 * @param send sends a request about several keys
 * @param limit completes a future after [[MergedRequests.LongestWaitMs]], unless it is completed before
 */
private[cluster] final class MergedRequests[K, A](
    send: Set[K] => Map[K, CompletableFuture[A]],
    limit: CompletableFuture[Unit] => Unit = MergedRequests.limited
) {
  private var waiting = Map.empty[K, CompletableFuture[A]]
  private var isSent = false

  /** A future of each key that its user alone completes early. */
  def apply(keys: Set[K]): Map[K, CompletableFuture[A]] =
    if (keys.isEmpty) Map.empty
    else {
      val (answers, isFree) = synchronized {
        waiting ++= (keys -- waiting.keySet).iterator.map(_ -> new CompletableFuture[A])
        (keys.iterator.map(key => key -> waiting(key)).toMap, !isSent)
      }
      // Before it is sent: a user may not see the response of another one as its own.
      val own = answers.map { case (key, answer) => key -> answer.copy() }
      if (isFree) sendWaiting(isFirst = true)
      own
    }

  /** @param isFirst whether no request is pending; otherwise the pending one has ended */
  private def sendWaiting(isFirst: Boolean): Unit = {
    val next = synchronized {
      if (isFirst && isSent) Map.empty[K, CompletableFuture[A]]
      else {
        val next = waiting
        waiting = Map.empty
        isSent = next.nonEmpty
        next
      }
    }
    if (next.nonEmpty) {
      val answers =
        try send(next.keySet)
        catch {
          case NonFatal(e) => next.map { case (key, _) => key -> CompletableFuture.failedFuture[A](e) }
        }
      // Completed once. A response of any broker ends the wait: that of a frozen one would never come.
      val wait = new CompletableFuture[Unit]
      wait.thenRun(() => sendWaiting(isFirst = false))
      answers.foreach { case (key, answer) =>
        answer.whenComplete { (value, error) =>
          wait.complete(())
          val _ = if (error == null) next(key).complete(value) else next(key).completeExceptionally(error)
        }
      }
      limit(wait)
    }
  }
}

private[cluster] object MergedRequests {

  /** Longer than the round trip to any region, and short for those that wait for a broker of others. */
  val LongestWaitMs = 250L

  // A response cancels the timer. A delayed executor would run its task nevertheless, each on a thread of its own where the JVM
  // has at most two processors.
  private def limited(wait: CompletableFuture[Unit]): Unit = {
    val _ = wait.completeOnTimeout((), LongestWaitMs, TimeUnit.MILLISECONDS)
  }
}
