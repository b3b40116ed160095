package io.github.dynamickafka.source.cluster

import java.time.Duration
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}

import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterView, Ending, Positions}

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

/**
 * The request of a trigger to one cluster.
 *
 * @param topics all topics to read
 * @param known partitions that are already read: their offsets are requested without waiting for the description of the
 *              topics, which saves a round trip
 * @param entering topics without a position, with their start positions
 * @param ending topics with a stopping position; stopping offsets that are already fixed are not requested again
 * @param only topics of which only some partitions are read, with these partitions
 * @param complete whether to wait for each partition as long as for the cluster, because no later trigger asks again
 * @param afterwards whether the response must be requested after the question came up: what depends on it is decided for
 *                   good
 * @param ahead whether no trigger waits for the response: it may contain earliest offsets of some seconds ago
 */
private[dynamickafka] final case class ClusterQuestion(
    topics: Set[String],
    known: Positions,
    entering: Map[String, OffsetsPolicy],
    ending: Map[String, Ending] = Map.empty,
    only: Map[String, Set[Int]] = Map.empty,
    complete: Boolean = false,
    afterwards: Boolean = false,
    ahead: Boolean = false
) {

  /** Whether functions of the user have to be called. */
  def isComputed: Boolean =
    (entering.valuesIterator ++ ending.valuesIterator.flatMap(_.policy)).exists(PolicyOffsets.isComputed)
}

private[source] object ClusterQuestion {

  /** The questions that can be asked ahead of the triggers: their responses decide about the next batch only. */
  object Ahead extends LatestAnswers.Rules[ClusterQuestion, ClusterView.Reachable] {

    /** Stopping positions other than times can be the latest offset of this moment. */
    override def isSteady(question: ClusterQuestion): Boolean =
      !question.complete && !question.afterwards && question.ending.valuesIterator.forall(
        _.policy.forall(PolicyOffsets.isByTime)
      )

    /** Start positions can be the latest offset of this moment, but a topic that does not exist has none. */
    override def suffices(question: ClusterQuestion, answer: ClusterView.Reachable): Boolean =
      question.entering.keySet.subsetOf(answer.missing)

    override def isSame(one: ClusterQuestion, other: ClusterQuestion): Boolean =
      one.topics == other.topics && one.only == other.only && one.ending == other.ending

    override def hasNews(question: ClusterQuestion, answer: ClusterView.Reachable): Boolean =
      answer.ends.iterator.exists { case (topic, p, end) => question.known.get(topic, p).forall(_ < end) }
  }
}

/**
 * The response of one cluster.
 *
 * @param silent the partitions whose leaders did not respond; those of `view.unanswered` without a leader are not in it
 */
private[dynamickafka] final case class ClusterAnswer(
    view: ClusterView.Reachable,
    silent: Map[TopicPartition, SilentLeader]
)

/** The node that leads a partition and did not respond to a request about it. */
private[dynamickafka] final case class SilentLeader(node: Int, reason: String)

/**
 * How long to wait for a response.
 *
 * @param attemptMs for the description of the topics
 * @param leaderMs for the leader of a partition while other partitions have responded
 * @param until when an incomplete response is used, in monotonic milliseconds
 */
private[dynamickafka] final case class Patience(attemptMs: Long, leaderMs: Long, until: Long)

/** A partition has another leader than the one that was asked: clients wait for the former one (KAFKA-20673). */
private[source] final class LeaderMoved(partitions: Set[TopicPartition])
    extends RuntimeException(
      s"the leader has changed: ${partitions.toSeq.map(_.toString).sorted.mkString(", ")}"
    )

/** A [[ClusterClient]] with Kafka's admin client. Opening it resolves addresses, which may block or fail. */
private[dynamickafka] final class AdminClusterClient(properties: Map[String, String]) extends ClusterClient {
  private val admin = Admin.create(new ju.HashMap[String, AnyRef](properties.asJava))

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
