package io.github.dynamickafka.sink.commit

import java.util.concurrent.{ExecutorService, Executors, TimeUnit}
import java.{util => ju}

import scala.annotation.unused
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.{
  Admin,
  DescribeClusterOptions,
  ListTransactionsOptions,
  TopicDescription,
  TransactionDescription,
  TransactionListing,
  TransactionState
}
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.errors.{
  AuthorizationException,
  TimeoutException,
  TransactionalIdNotFoundException,
  UnknownTopicOrPartitionException
}
import org.apache.kafka.common.{KafkaFuture, TopicPartition, Uuid}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Clock, DaemonThreads, Redaction}
import io.github.dynamickafka.config.{ClusterProperties, ClusterScope, SinkOptions}
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.kafka.{
  ClusterClients,
  ClusterFailure,
  Opening,
  ProducerSettings,
  TopicLimits,
  TransactionTimeLimits
}

/**
 * The driver's connections to the clusters of a batch, and to clusters in decisions that are no longer in the metadata.
 *
 * @param resolve returns the properties of a cluster that is not in the metadata, given its properties in the journal
 * @param connect creates the admin client of a cluster, given its properties and the time limit of a request
 */
private[sink] final class Clusters(
    resolve: (String, Map[String, String]) => ClusterProperties,
    requestTimeoutMs: Long,
    commitTimeoutMs: Long,
    connect: (ClusterProperties, Long) => TransactionAdmin = new KafkaTransactionAdmin(_, _),
    val threads: ExecutorService = Clusters.threads
) {
  import Clusters._

  private var avoided, written = Set.empty[String]
  private var topics = Map.empty[String, Map[String, String]]
  private var current = Map.empty[String, ClusterProperties]
  private var admins = Map.empty[String, (ClusterProperties, TransactionAdmin)]

  // How often a cluster was too slow since it last responded.
  private var slow = Map.empty[String, Int]

  /** Sets the clusters of the metadata, all of which are written to. The connections to others are closed. */
  def set(properties: Map[String, ClusterProperties]): Unit = set(properties, properties.keySet)

  /** @param open the clusters that the query writes to, as far as this is known before it does */
  def set(properties: Map[String, ClusterProperties], open: Set[String]): Unit = synchronized {
    current = properties
    written = open ++ written.filter(properties.contains)
    val (stay, gone) = admins.partition { case (id, _) => properties.contains(id) }
    admins = stay
    gone.values.foreach(_._2.close())
  }

  /** Adds the clusters of a decision that are not in the metadata. */
  def remember(entry: JournalEntry): Unit = synchronized {
    entry.clusters.foreach { case (id, known) =>
      if (!current.contains(id)) current += id -> resolve(id, known.properties)
    }
    written ++= entry.clusters.keySet
  }

  def wrote(ids: Set[String]): Unit = synchronized(written ++= ids)

  /** The clusters that the query writes to, without the ones that are left out. */
  def ids: Seq[String] = synchronized(current.keys.filter(id => written(id) && !avoided(id)).toSeq.sorted)

  /** Whether the cluster is in the metadata or in a decision, and not left out. */
  def isKnown(id: String): Boolean = synchronized(current.contains(id) && !avoided(id))

  /** Whether the cluster is neither in the metadata nor in a decision. */
  def hasLeft(id: String): Boolean = synchronized(!current.contains(id))

  /** Kafka's ids of topics when they were last looked at, by cluster id. */
  def topicIds: Map[String, Map[String, String]] = synchronized(topics)

  def learnTopics(ids: Map[String, Map[String, String]]): Unit = synchronized {
    ids.foreach { case (cluster, found) =>
      topics += cluster -> (topics.getOrElse(cluster, Map.empty) ++ found)
    }
  }

  def learnTopics(id: String, names: Set[String]): Unit =
    learnTopics(Map(id -> admin(id).describe(Nil, names).topicIds))

  /** Sets which clusters are not asked for leftovers, because they do not respond. */
  def leaveOut(ids: Set[String]): Unit = synchronized { avoided = ids }

  /** Why a cluster does not respond within this time limit; None: it does. */
  def problem(id: String, timeoutMs: Long): Option[Throwable] =
    try {
      ask(id)(_.respond(timeoutMs))
      None
    } catch { case NonFatal(e) => Some(ClusterFailure(id, properties(id).client, e)) }

  /** The failure of a request to a cluster, without its secrets. */
  def reason(id: String, cause: Throwable): String = {
    val of = properties(id)
    s"${of.bootstrapServers}: ${FailureText.of(Redaction.scrub(cause, of.client ++ of.admin))}"
  }

  def properties(id: String): ClusterProperties = synchronized(current(id))

  def safe(id: String): Map[String, String] =
    Redaction.safe(properties(id).client.filterNot { case (name, _) => name == "client.id" })

  def admin(id: String): TransactionAdmin = synchronized {
    val wanted = current(id)
    admins.get(id) match {
      case Some((same, admin)) if same == wanted && !admin.isBroken => admin
      case other =>
        other.foreach(_._2.close())
        val api = wanted.admin.get("default.api.timeout.ms").flatMap(_.trim.toLongOption)
        val limits = TransactionTimeLimits
          .ofDriver(wanted.client, slow.getOrElse(id, 0) / Patience, api.getOrElse(requestTimeoutMs))
        val admin =
          connect(wanted.copy(admin = wanted.admin ++ limits), math.min(requestTimeoutMs, LongestQuestionMs))
        admins += id -> (wanted -> admin)
        admin
    }
  }

  /**
   * Asks a cluster. If it refuses the credentials of a client that was open before, a new client asks, which reads the credentials
   * behind references again.
   */
  def ask[A](id: String)(question: TransactionAdmin => A): A = {
    val wasOpen = synchronized(admins.get(id).exists(_._1 == current(id)))
    def once(): A =
      try question(admin(id))
      catch {
        case NonFatal(e) =>
          if (ClusterFailure.isRefused(e)) disconnect(id)
          throw e
      }
    try once()
    catch { case NonFatal(e) if wasOpen && ClusterFailure.isRefused(e) => once() }
  }

  /** Closes the client of a cluster: the next one reads the credentials behind references again. */
  def disconnect(id: String): Unit = synchronized {
    for ((_, admin) <- admins.get(id) if !admin.isBeingMade) {
      admins -= id
      admin.close()
    }
  }

  /** Has the next client of a cluster that did not respond in time wait longer for each response. */
  def tooSlow(id: String): Unit = {
    synchronized(slow += id -> (slow.getOrElse(id, 0) + 1))
    disconnect(id)
  }

  def responded(id: String): Unit = synchronized(slow -= id)

  /** The settings of producers that only commit, so that `max.block.ms` limits an attempt to commit. */
  def committing(id: String, failures: Int = 0): ProducerSettings = {
    val client = properties(id).client
    val limits = TransactionTimeLimits.ofDriver(client, failures, commitTimeoutMs).toSeq
    val attemptMs = math.min(commitTimeoutMs, TransactionTimeLimits.attemptMs(failures))
    new ProducerSettings(id, client).and(limits: _*).and(
      "max.block.ms" -> attemptMs.toString,
      "transaction.timeout.ms" -> CommitterTimeoutMs
    )
  }

  def deadline(clock: Clock): Long = clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(commitTimeoutMs)

  /** Asks these clusters, or others, at once, and returns the answers in their order, or throws the first exception. */
  def each[A, B](ids: Seq[A])(ask: A => B): Seq[B] = Opening.answers(ids, threads)(ask)

  def close(): Unit = synchronized {
    admins.values.foreach(_._2.close())
    admins = Map.empty
  }
}

private[sink] object Clusters {
  private val LongestQuestionMs = 15000L

  /** Clusters with the properties that the options give to a cluster that has left the metadata. */
  def of(options: SinkOptions, commitTimeoutMs: Long): Clusters = new Clusters(
    (id, known) => new ClusterScope(options.clusters, Set(id)).producer(id, known),
    options.clusters.requestTimeoutMs,
    commitTimeoutMs
  )

  /** The attempts after which a cluster counts as slow. Before, a broker that does not respond may have to be replaced. */
  private val Patience = 3

  /** Shared by all queries of this driver. Idle threads terminate. */
  val threads: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("dynamic-kafka-sink-commit"))

  // These producers begin no transaction but those of guards ([[TransactionalIds]]), in which nothing is written.
  private val CommitterTimeoutMs = "10000"
}

/** The driver's requests about transactions to one cluster. Waits for the responses. */
private[sink] trait TransactionAdmin {

  /** Whether the client is still being made. Another one would hang as well. */
  def isBeingMade: Boolean = false

  /** Whether the client could not be made, so that another one reads the credentials again. */
  def isBroken: Boolean = false

  /** Fails if the cluster does not answer a question, about nothing in particular, within the time limit. */
  def respond(@unused timeoutMs: Long): Unit = {
    val _ = describe(Nil, Set.empty)
  }

  /** `transaction.max.timeout.ms` of the brokers; None without authorization to describe it. */
  def maxTimeoutMs(): Option[Long]

  /** The limits of these topics, as far as they exist and may be described. */
  def topicLimits(@unused topics: Set[String]): Map[String, TopicLimits] = Map.empty

  /** What Kafka knows about these transactional ids and the partitions of these topics, all of them at once. */
  def describe(transactionalIds: Seq[String], topics: Set[String]): Seen

  /** The ids of the producers that have a transaction open in these partitions, according to the leaders. */
  def openIn(partitions: Set[TopicPartition]): Map[TopicPartition, Set[Long]]

  def open(matching: String => Boolean): Seq[String]

  /** Aborts the open transactions of these ids and fences their producers. */
  def fence(transactionalIds: Seq[String]): Unit
  def close(): Unit
}

/**
 * @param clusterId Kafka's id of the cluster; None: it has none
 * @param known by transactional id; an id that Kafka does not know is missing
 * @param inSync the number of replicas that are in sync, by partition; 0: the partition has no leader
 * @param topicIds Kafka's ids of the topics: one that is recreated has another one
 */
private[sink] final case class Seen(
    clusterId: Option[String],
    known: Map[String, TransactionDescription],
    inSync: Map[TopicPartition, Int] = Map.empty,
    topicIds: Map[String, String] = Map.empty
) {

  def partitions(transactionalId: String): Option[Set[TopicPartition]] =
    known.get(transactionalId).map(_.topicPartitions.asScala.toSet)

  /** The partitions of the transactions, or all of their topics: after the end of a transaction Kafka forgets its own. */
  def inSyncWritten: Map[TopicPartition, Int] =
    if (known.values.exists(_.state != TransactionState.ONGOING)) inSync
    else inSync -- (inSync.keySet -- known.values.flatMap(_.topicPartitions.asScala))

  def leaderless: Set[TopicPartition] = inSync.collect { case (partition, 0) => partition }.toSet
}

/** Asks with Kafka's admin client. */
private[commit] final class KafkaTransactionAdmin(properties: ClusterProperties, timeoutMs: Long)
    extends TransactionAdmin {
  import KafkaTransactionAdmin._

  private val opening = ClusterClients.admin(properties.admin)

  private def admin: Admin = opened(timeoutMs)
  private def opened(limitMs: Long): Admin = opening.await(limitMs)

  override def isBeingMade: Boolean = opening.isBeingMade
  override def isBroken: Boolean = opening.isBroken

  /**
   * Less than the time limit: Kafka's client may ask a coordinator that does not respond until the end, where a new client
   * asks the next coordinator.
   */
  private val lookMs = properties.admin.get("request.timeout.ms").flatMap(_.trim.toLongOption)
    .fold(timeoutMs)(request => math.min(timeoutMs, 2 * request))

  override def maxTimeoutMs(): Option[Long] =
    ifThere(ClusterClients.maxTransactionTimeoutMs(admin, timeoutMs)).flatten

  override def topicLimits(topics: Set[String]): Map[String, TopicLimits] = {
    val resources = topics.map(topic => new ConfigResource(ConfigResource.Type.TOPIC, topic) -> topic).toMap
    val limitMs = math.min(timeoutMs, LongestLimitsMs)
    for {
      (resource, asked) <- opened(limitMs).describeConfigs(resources.keySet.asJava).values.asScala.toMap
      config <- ifThere(get(asked, limitMs))
    } yield resources(resource) -> TopicLimits(name =>
      Option(config.get(name)).flatMap(c => Option(c.value))
    )
  }

  /** Asks twice, because one broker may be frozen: the client asks another one the second time. */
  override def respond(timeoutMs: Long): Unit = {
    val admin = opened(timeoutMs)
    def ask(): Unit = {
      val options = new DescribeClusterOptions().timeoutMs(math.max(1L, timeoutMs / 2).toInt)
      val _ = get(admin.describeCluster(options).clusterId())
    }
    try ask()
    catch { case _: TimeoutException => ask() }
  }

  override def describe(transactionalIds: Seq[String], topics: Set[String]): Seen = {
    val cluster = admin.describeCluster().clusterId()
    val described = admin.describeTopics(topics.asJava).topicNameValues.asScala.toMap
    val transactions = admin.describeTransactions(transactionalIds.asJava)
    val known = transactionalIds.flatMap { id =>
      try Some(id -> get(transactions.description(id), lookMs))
      catch { case _: TransactionalIdNotFoundException => None }
    }
    val existing = described.flatMap { case (topic, asked) => ifThere(get(asked, lookMs)).map(topic -> _) }
    Seen(
      Option(get(cluster, lookMs)).filter(_.nonEmpty),
      known.toMap,
      existing.flatMap((inSync _).tupled),
      // Brokers before Kafka 2.8 have no ids of topics.
      existing.collect {
        case (topic, found) if found.topicId != Uuid.ZERO_UUID => topic -> found.topicId.toString
      }
    )
  }

  /** None if the topic or broker does not exist, or may not be seen. */
  private def ifThere[A](ask: => A): Option[A] =
    try Some(ask)
    catch { case _: UnknownTopicOrPartitionException | _: AuthorizationException => None }

  private def inSync(topic: String, found: TopicDescription): Map[TopicPartition, Int] =
    found.partitions.asScala.map { p =>
      val hasLeader = Option(p.leader).exists(!_.isEmpty)
      new TopicPartition(topic, p.partition) -> (if (hasLeader) math.max(1, p.isr.size) else 0)
    }.toMap

  override def openIn(partitions: Set[TopicPartition]): Map[TopicPartition, Set[Long]] = {
    val asked = admin.describeProducers(partitions.asJava)
    partitions.map { partition =>
      val open = get(asked.partitionResult(partition)).activeProducers.asScala
        .filter(_.currentTransactionStartOffset.isPresent).map(_.producerId)
      partition -> open.toSet
    }.toMap
  }

  override def open(matching: String => Boolean): Seq[String] = {
    val options = new ListTransactionsOptions().filterStates(ju.Set.of(TransactionState.ONGOING))
    // Each broker lists the transactions that it coordinates. One that does not respond must not hide those of the others.
    val asked = get(admin.listTransactions(options).byBrokerId()).asScala.toMap
    val (listed, failed) =
      answers(asked, (broker: KafkaFuture[ju.Collection[TransactionListing]]) => get(broker).asScala.toSeq)
    failed.headOption.filter(_ => listed.isEmpty).foreach { case (_, e) => throw e }
    failed.foreach { case (broker, e) =>
      log.warn(
        s"Broker $broker of Kafka cluster '${properties.clusterId}' does not list its open transactions: " +
          Redaction.scrub(e.toString, properties.client)
      )
    }
    listed.flatten.map(_.transactionalId).filter(matching).sorted
  }

  override def fence(transactionalIds: Seq[String]): Unit =
    if (transactionalIds.nonEmpty) {
      val _ = get(admin.fenceProducers(transactionalIds.asJava).all())
    }

  override def close(): Unit = opening.close()

  private def get[A](future: KafkaFuture[A], limitMs: Long = timeoutMs): A =
    Opening.answer(future, limitMs)
}

private[commit] object KafkaTransactionAdmin {

  /** A batch can do without the limits of topics, and a cluster that does not respond delays it anyway. */
  private val LongestLimitsMs = 5000L
  private val log = LoggerFactory.getLogger(classOf[KafkaTransactionAdmin])

  /** The answers of the brokers, in the order of their ids, and the failures of those that have none. */
  def answers[F, A](asked: Map[Integer, F], await: F => A): (Seq[A], Seq[(Integer, Throwable)]) =
    asked.toSeq.sortBy(_._1.intValue).partitionMap { case (broker, future) =>
      try Left(await(future))
      catch { case NonFatal(e) => Right(broker -> e) }
    }
}
