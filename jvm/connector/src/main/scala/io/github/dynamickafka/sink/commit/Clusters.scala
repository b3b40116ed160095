package io.github.dynamickafka.sink.commit

import java.util.concurrent.{Callable, ExecutionException, ExecutorService, Executors, TimeUnit}

import scala.util.control.NonFatal

import io.github.dynamickafka.base.{Clock, DaemonThreads, Redaction}
import io.github.dynamickafka.config.{ClusterScope, ProducerProperties, SinkOptions}
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.kafka.{ClusterFailure, ProducerSettings, TransactionTimeLimits}

/**
 * The driver's connections to the clusters of a batch, and to clusters in decisions that are no longer in the metadata.
 *
 * @param resolve returns the properties of a cluster that is not in the metadata, given its properties in the journal
 * @param connect creates the admin client of a cluster, given its properties and the time limit of a request
 * @param threads the executor of requests to several clusters
 */
private[sink] final class Clusters(
    resolve: (String, Map[String, String]) => ProducerProperties,
    requestTimeoutMs: Long,
    commitTimeoutMs: Long,
    connect: (ProducerProperties, Long) => TransactionAdmin = new KafkaTransactionAdmin(_, _),
    val threads: ExecutorService = Clusters.threads
) {
  import Clusters._

  private var avoided, written = Set.empty[String]
  private var topics = Map.empty[String, Map[String, String]]
  private var current = Map.empty[String, ProducerProperties]
  private var admins = Map.empty[String, (ProducerProperties, TransactionAdmin)]

  // How often a cluster was too slow since it last responded.
  private var slow = Map.empty[String, Int]

  /** Sets the clusters of the metadata, all of which are written to. The connections to others are closed. */
  def set(properties: Map[String, ProducerProperties]): Unit = set(properties, properties.keySet)

  /** @param open the clusters that the query writes to, as far as this is known before it does */
  def set(properties: Map[String, ProducerProperties], open: Set[String]): Unit = synchronized {
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

  /** Adds clusters to which tasks have written. */
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

  /** Asks a cluster for the ids of these topics. */
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

  def properties(id: String): ProducerProperties = synchronized(current(id))

  /** The properties of a cluster that may be stored. */
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
        val admin = connect(wanted.withAdmin(limits), math.min(requestTimeoutMs, LongestQuestionMs))
        admins += id -> (wanted -> admin)
        admin
    }
  }

  /**
   * Asks a cluster. If it refuses the credentials of a client that was open before, a new client asks, which reads credentials again
   * that are behind references.
   */
  def ask[A](id: String)(question: TransactionAdmin => A): A = {
    val wasOpen = synchronized(admins.get(id).exists(_._1 == current(id)))
    try question(admin(id))
    catch {
      case NonFatal(e) if ClusterFailure.isRefused(e) =>
        disconnect(id)
        if (!wasOpen) throw e
        try question(admin(id))
        catch {
          case NonFatal(again) =>
            if (ClusterFailure.isRefused(again)) disconnect(id)
            throw again
        }
    }
  }

  /** Closes the client of a cluster: the next one reads credentials again that are behind references. */
  def disconnect(id: String): Unit = {
    val gone = synchronized {
      val had = admins.get(id).filterNot(_._2.isBeingMade)
      had.foreach(_ => admins -= id)
      had
    }
    gone.foreach(_._2.close())
  }

  /** Has the next client of a cluster that did not respond in time wait longer for each response. */
  def tooSlow(id: String): Unit = {
    synchronized(slow += id -> (slow.getOrElse(id, 0) + 1))
    disconnect(id)
  }

  def responded(id: String): Unit = synchronized(slow -= id)

  /** `transaction.max.timeout.ms` of the brokers; None without authorization to describe it. */
  def maxTransactionTimeoutMs(id: String): Option[Long] = ask(id)(_.maxTimeoutMs())

  /**
   * The settings of producers that only commit, so that `max.block.ms` limits an attempt to commit.
   *
   * @param failures the failed attempts before this one
   */
  def committing(id: String, failures: Int = 0): ProducerSettings = {
    val client = properties(id).client
    val limits = TransactionTimeLimits.ofDriver(client, failures, commitTimeoutMs).toSeq
    val attemptMs = math.min(commitTimeoutMs, TransactionTimeLimits.attemptMs(failures))
    new ProducerSettings(id, client).and(limits: _*).and(
      "max.block.ms" -> attemptMs.toString,
      "transaction.timeout.ms" -> CommitterTimeoutMs
    )
  }

  /** The time limit of a commit that starts now, in nanoseconds. */
  def deadline(clock: Clock): Long = clock.nanoTime() + TimeUnit.MILLISECONDS.toNanos(commitTimeoutMs)

  /** Asks these clusters, or others, at once, and returns the answers in their order, or throws the first exception. */
  def each[A, B](ids: Seq[A])(ask: A => B): Seq[B] = {
    val under = ids.map(id => threads.submit((() => ask(id)): Callable[B]))
    try under.map(_.get())
    catch { case e: ExecutionException => throw e.getCause }
  }

  def close(): Unit = synchronized {
    admins.values.foreach(_._2.close())
    admins = Map.empty
  }
}

private[sink] object Clusters {
  private val LongestQuestionMs = 15000L

  /** With the properties that the options give to a cluster that has left the metadata. */
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
