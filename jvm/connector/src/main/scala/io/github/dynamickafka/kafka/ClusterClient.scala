package io.github.dynamickafka.kafka

import java.time.Duration
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}

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

/** The requests about positions to one cluster, by one client of Kafka. Never waits: results are futures. Thread-safe. */
private[dynamickafka] trait ClusterRequests extends AutoCloseable {

  /** The `cluster.id` of Kafka (KIP-78), to find cluster ids of the metadata that refer to the same cluster. */
  def clusterId: CompletableFuture[String]

  /** All topics without the internal topics of Kafka. */
  def topics: CompletableFuture[Set[String]]

  def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]]

  def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]]

  def committed(group: String): CompletableFuture[Map[TopicPartition, Long]]

  /**
   * Commits offsets to a consumer group from outside of the group (KIP-396): the group must have no members. Requires
   * `READ` on the group and on each topic.
   */
  def commit(group: String, offsets: Map[TopicPartition, Long]): Map[TopicPartition, CompletableFuture[Unit]]

  /** Pending requests fail. */
  override def close(): Unit
}

private final class AdminRequests(admin: Admin) extends ClusterRequests {

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
        ListedOffset(
          found.offset,
          found.leaderEpoch.toScala.map(_.toLong).filter(_ >= 0),
          Option(found.timestamp).filter(_ >= 0)
        )
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

/**
 * A client of one cluster, as one of its users has it: the requests that several users send often are sent together. Never waits, also
 * while the client is being made: a request that has waited for it for as long as a request may take fails, and is not sent later, when it
 * may be outdated. Thread-safe.
 */
private[dynamickafka] final class ClusterClient private[kafka] (
    shared: ClusterClients.Shared,
    limitMs: Long,
    clients: ClusterClients
) extends AutoCloseable {
  private val isClosed = new AtomicBoolean

  def opening: Opening[ClusterRequests] = shared.opening

  def clusterId: CompletableFuture[String] = made.thenCompose[String](_ => shared.ids(Set(()))(()))
  def topics: CompletableFuture[Set[String]] =
    made.thenCompose[Set[String]](_ => shared.names(Set(()))(()))
  def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] =
    each(topics)(_ => shared.descriptions(topics))

  def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]] = each(specs.keySet) { requests =>
    specs.groupBy { case (_, spec) => ClusterClients.endOf(spec) }.flatMap {
      case (Some(end), wanted) => shared.listings((isolation, end))(wanted.keySet)
      case (None, wanted) => requests.offsets(wanted, isolation)
    }
  }

  def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] =
    made.thenCompose[Map[TopicPartition, Long]](_.committed(group))

  def commit(
      group: String,
      offsets: Map[TopicPartition, Long]
  ): Map[TopicPartition, CompletableFuture[Unit]] =
    each(offsets.keySet)(_.commit(group, offsets))

  /** Pending requests fail if no other user shares the client. */
  override def close(): Unit = if (isClosed.compareAndSet(false, true)) clients.leave(shared)

  /** This client does not get responses: who connects from now on gets another one. */
  def abandon(): Unit = clients.drop(shared)

  /** What sends the requests. */
  def made: CompletableFuture[ClusterRequests] =
    if (opening.isBeingMade) opening.client.copy().orTimeout(limitMs, TimeUnit.MILLISECONDS)
    else opening.client

  private def each[K, A](keys: Set[K])(
      send: ClusterRequests => Map[K, CompletableFuture[A]]
  ): Map[K, CompletableFuture[A]] = {
    val sent = made.thenApply[Map[K, CompletableFuture[A]]](send(_))
    if (sent.isDone && !sent.isCompletedExceptionally) sent.join()
    else keys.iterator.map(key => key -> sent.thenCompose[A](_(key))).toMap
  }
}

/**
 * The clients of a driver. Queries and cluster ids with the same address, credentials and other properties share one, which is
 * closed with its last user. Thread-safe.
 */
private[dynamickafka] final class ClusterClients(open: Map[String, String] => Opening[ClusterRequests]) {
  import ClusterClients._

  private var all = Map.empty[Map[String, String], Shared]

  /**
   * Never waits.
   *
   * @param properties the properties of Kafka's admin client
   * @param limitMs how long a request may wait for the client
   */
  def connect(properties: Map[String, String], limitMs: Long): ClusterClient = synchronized {
    val shared =
      all.get(properties).filterNot(_.opening.isBroken).getOrElse(new Shared(properties, open(properties)))
    shared.users += 1
    all += properties -> shared
    new ClusterClient(shared, limitMs, this)
  }

  /** A client with one user. */
  def alone(properties: Map[String, String], limitMs: Long): ClusterClient =
    new ClusterClients(open).connect(properties, limitMs)

  private[kafka] def leave(shared: Shared): Unit = synchronized {
    shared.users -= 1
    if (shared.users == 0) {
      drop(shared)
      shared.opening.close()
    }
  }

  private[kafka] def drop(shared: Shared): Unit = synchronized {
    if (all.get(shared.key).exists(_ eq shared)) all -= shared.key
  }
}

private[dynamickafka] object ClusterClients {
  val OfDriver: ClusterClients =
    new ClusterClients(p => Opening[ClusterRequests](new AdminRequests(create(p)))(_.close()))

  /** Kafka's own client, for whoever asks other questions than those of [[ClusterRequests]]. */
  def admin(properties: Map[String, String]): Opening[Admin] =
    Opening(create(properties))(_.close(Duration.ZERO))

  /** `transaction.max.timeout.ms` of a broker; None: the broker does not say it. */
  def maxTransactionTimeoutMs(admin: Admin, limitMs: Long): Option[Long] = {
    val node = Opening.answer(admin.describeCluster().nodes(), limitMs).iterator.next()
    val broker = new ConfigResource(ConfigResource.Type.BROKER, node.idString)
    val config = Opening.answer(admin.describeConfigs(ju.Set.of(broker)).values.get(broker), limitMs)
    Option(config.get("transaction.max.timeout.ms")).flatMap(c => Option(c.value)).flatMap(_.toLongOption)
  }

  private def create(properties: Map[String, String]): Admin =
    Admin.create(new ju.HashMap[String, AnyRef](properties.asJava))

  private[kafka] final class Shared(val key: Map[String, String], val opening: Opening[ClusterRequests]) {
    var users = 0

    // Asked only when the client is made.
    private def client = opening.client.join()
    val ids = new MergedRequests[Unit, String](_ => Map(() -> client.clusterId))
    val names = new MergedRequests[Unit, Set[String]](_ => Map(() -> client.topics))
    val descriptions = new MergedRequests[String, TopicAnswer](client.describe(_))
    val listings: Map[(IsolationLevel, OffsetSpec), MergedRequests[TopicPartition, ListedOffset]] = {
      for { isolation <- IsolationLevel.values.toSeq; end <- Ends } yield {
        def send(tps: Set[TopicPartition]) = client.offsets(tps.iterator.map(_ -> end).toMap, isolation)
        (isolation, end) -> new MergedRequests[TopicPartition, ListedOffset](send(_))
      }
    }.toMap
  }

  /** Kafka's specifications have no equality. */
  private val Ends: Seq[OffsetSpec] = Seq(OffsetSpec.latest, OffsetSpec.earliest)

  private[kafka] def endOf(spec: OffsetSpec): Option[OffsetSpec] = Ends.find(_.getClass == spec.getClass)
}

/**
 * Requests of one kind to one cluster by several users of a client. While one is pending, later ones wait and are sent as
 * one: Kafka's admin client has one request at a time on its way to each broker, so that the responses to many requests
 * to a distant cluster would come one round trip after another. Thread-safe.
 *
 * @param send sends a request about several keys
 * @param limit completes a future after [[MergedRequests.LongestWaitMs]], unless it is completed before
 */
private[dynamickafka] final class MergedRequests[K, A](
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

private[dynamickafka] object MergedRequests {

  /** Longer than the round trip to any region, and short for those that wait for a broker of others. */
  val LongestWaitMs = 250L

  // A response cancels the timer. A delayed executor would run its task nevertheless, each on a thread of its own where the JVM
  // has at most two processors.
  private def limited(wait: CompletableFuture[Unit]): Unit = {
    val _ = wait.completeOnTimeout((), LongestWaitMs, TimeUnit.MILLISECONDS)
  }
}
