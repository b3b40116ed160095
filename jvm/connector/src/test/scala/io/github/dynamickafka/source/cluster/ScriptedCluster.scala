package io.github.dynamickafka.source.cluster

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CompletableFuture, ConcurrentLinkedQueue, Executors, TimeUnit}
import java.{util => ju}

import scala.collection.concurrent.TrieMap

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.errors.{TimeoutException, UnknownTopicOrPartitionException}
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

import io.github.dynamickafka.kafka.{
  ClusterClient,
  ClusterClients,
  ClusterRequests,
  ListedOffset,
  Opening,
  TopicAnswer
}

/**
 * A Kafka cluster as its clients see it, which a test changes. As in Kafka (KAFKA-20673), a client asks the leader that
 * it knows first, even if there is another one.
 */
final class ScriptedCluster {

  /** The leader of each partition, or None. */
  @volatile var leaders: Map[(String, Int), Option[Int]] = Map.empty

  /** Nodes that do not respond to requests for offsets. */
  @volatile var silent: Set[Int] = Set.empty

  /** Whether a client responds to the description of topics; clients are numbered from 1. */
  @volatile var describes: Int => Boolean = _ => true

  /** How long a client waits for the description of topics, in milliseconds. */
  @volatile var delayMs: Long = 0L

  /** The end of the log, the last stable offset where it is lower, and the earliest offset. */
  @volatile var ends: Map[(String, Int), Long] = Map.empty
  @volatile var stable: Map[(String, Int), Long] = Map.empty
  @volatile var earliest: Map[(String, Int), Long] = Map.empty

  /** The leader epochs; a broker may give none. */
  @volatile var epochs: Map[(String, Int), Long] = Map.empty
  @volatile var byTime: Map[(String, Int), Long] = Map.empty

  /** The times of the records at the offsets by time. */
  @volatile var times: Map[(String, Int), Long] = Map.empty
  @volatile var committed: Map[(String, Int), Long] = Map.empty

  /** Called when a client asks for committed offsets, or for offsets by time. */
  @volatile var onResolve: () => Unit = () => ()

  /** The response to the request for the `cluster.id`. */
  @volatile var id: () => CompletableFuture[String] = () => CompletableFuture.completedFuture("kafka-id")

  /** What was committed to groups, oldest first. */
  val commits = new ConcurrentLinkedQueue[Map[(String, Int), Long]]

  val opened = new AtomicInteger
  val closed = new AtomicInteger

  /** Clients whose users did not take the failure of pending requests while the client was closing. */
  val stuck = new AtomicInteger

  /** All requests for the description of a topic. */
  val descriptions = new AtomicInteger

  /** All requests for the latest offset of a partition. */
  val listings = new AtomicInteger

  /** All requests for the earliest offset of a partition. */
  val earliestListings = new AtomicInteger

  /** All requests for offsets by time, of any number of partitions. */
  val timeRequests = new AtomicInteger

  def clients: ClusterClients = new ClusterClients(_ => opening())

  def connect(): ClusterClient = clients.connect(Map.empty, 60000L)

  /** Made at once. */
  def opening(): Opening[ClusterRequests] =
    new Opening(CompletableFuture.completedFuture(requests()))(_.close())

  def requests(): ClusterRequests = new Client(opened.incrementAndGet())

  private final class Client(number: Int) extends ClusterRequests {
    private val first = TrieMap.empty[(String, Int), Option[Int]]
    private val unanswered = new ConcurrentLinkedQueue[CompletableFuture[_]]

    override def clusterId: CompletableFuture[String] = id()
    override def topics: CompletableFuture[Set[String]] =
      CompletableFuture.completedFuture(leaders.keySet.map(_._1))

    override def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] =
      topics.iterator.map(topic => topic -> described(topic)).toMap

    private def described(topic: String): CompletableFuture[TopicAnswer] = {
      descriptions.incrementAndGet()
      val found = leaders.collect { case ((`topic`, p), node) => p -> node }
      if (!describes(number)) pending(new CompletableFuture[TopicAnswer])
      else if (found.isEmpty) CompletableFuture.failedFuture(new UnknownTopicOrPartitionException(topic))
      else if (delayMs == 0L) CompletableFuture.completedFuture(TopicAnswer(found))
      else new CompletableFuture[TopicAnswer].completeOnTimeout(
        TopicAnswer(found),
        delayMs,
        TimeUnit.MILLISECONDS
      )
    }

    override def offsets(
        specs: Map[TopicPartition, OffsetSpec],
        isolation: IsolationLevel
    ): Map[TopicPartition, CompletableFuture[ListedOffset]] = {
      if (specs.valuesIterator.exists(_.isInstanceOf[OffsetSpec.TimestampSpec]))
        timeRequests.incrementAndGet()
      specs.map { case (tp, spec) => tp -> offset(tp, spec, isolation) }
    }

    private def offset(
        tp: TopicPartition,
        spec: OffsetSpec,
        isolation: IsolationLevel
    ): CompletableFuture[ListedOffset] = {
      val key = (tp.topic, tp.partition)
      if (spec.isInstanceOf[OffsetSpec.LatestSpec]) listings.incrementAndGet()
      if (spec.isInstanceOf[OffsetSpec.EarliestSpec]) earliestListings.incrementAndGet()
      val leader = first.getOrElseUpdate(key, leaders.getOrElse(key, None))
      def value = spec match {
        case _: OffsetSpec.EarliestSpec => earliest.getOrElse(key, 0L)
        case _: OffsetSpec.TimestampSpec =>
          onResolve()
          byTime(key)
        case _ =>
          if (isolation == IsolationLevel.READ_COMMITTED) stable.getOrElse(key, ends(key)) else ends(key)
      }
      def time = times.get(key).filter(_ => spec.isInstanceOf[OffsetSpec.TimestampSpec])
      def listed = ListedOffset(value, epochs.get(key), time)
      if (leader.exists(!silent(_))) CompletableFuture.completedFuture(listed)
      else pending(new CompletableFuture[ListedOffset])
    }

    override def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] = {
      onResolve()
      CompletableFuture.completedFuture(ScriptedCluster.this.committed.map { case ((topic, p), o) =>
        new TopicPartition(topic, p) -> o
      })
    }

    override def commit(
        group: String,
        offsets: Map[TopicPartition, Long]
    ): Map[TopicPartition, CompletableFuture[Unit]] = {
      commits.add(offsets.map { case (tp, offset) => (tp.topic, tp.partition) -> offset })
      offsets.map { case (tp, _) => tp -> CompletableFuture.completedFuture(()) }
    }

    /** As Kafka's: the thread of the client fails all pending requests, and is waited for. */
    override def close(): Unit = {
      val ended = CompletableFuture.runAsync(
        () =>
          unanswered.forEach { answer =>
            val _ = answer.completeExceptionally(new TimeoutException("the client is closed"))
          },
        ScriptedCluster.threads
      )
      try { val _ = ended.get(ScriptedCluster.CloseMs, TimeUnit.MILLISECONDS) }
      catch { case _: ju.concurrent.TimeoutException => stuck.incrementAndGet() }
      val _ = closed.incrementAndGet()
    }

    private def pending[A](answer: CompletableFuture[A]): CompletableFuture[A] = {
      unanswered.add(answer)
      answer
    }
  }
}

object ScriptedCluster {
  private val CloseMs = 20000L

  /** Shared, because simulations close thousands of clients in a second. */
  private val threads = Executors.newCachedThreadPool { task =>
    val thread = new Thread(task, "scripted-client")
    thread.setDaemon(true)
    thread
  }

  /** A topic `t` whose partitions are led by these nodes, each with ten records. */
  def led(nodes: Int*): ScriptedCluster = {
    val cluster = new ScriptedCluster
    cluster.leaders = nodes.zipWithIndex.map { case (node, p) => ("t", p) -> Option(node) }.toMap
    cluster.ends = cluster.leaders.map { case (key, _) => key -> 10L }
    cluster
  }
}
