package io.github.dynamickafka.sink.commit

import java.time.Duration
import java.util.concurrent.{ExecutionException, TimeUnit}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.{
  Admin,
  DescribeClusterOptions,
  ListTransactionsOptions,
  TopicDescription,
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

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.config.ProducerProperties
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{ClientOpener, TopicLimits}
import io.github.dynamickafka.source.cluster.ClientCloser

/**
 * Asks with Kafka's admin client.
 *
 * @param timeoutMs the time limit of one request, in milliseconds
 */
private[commit] final class KafkaTransactionAdmin(properties: ProducerProperties, timeoutMs: Long)
    extends TransactionAdmin {
  import KafkaTransactionAdmin._

  private val opening =
    ClientOpener.open(Admin.create(new ju.HashMap[String, AnyRef](properties.admin.asJava)))

  private def admin: Admin = opened(timeoutMs)
  private def opened(limitMs: Long): Admin = ClientOpener.await(opening, limitMs)

  override def isBeingMade: Boolean = !opening.isDone
  override def isBroken: Boolean = opening.isCompletedExceptionally

  /**
   * Less than the time limit: Kafka's client may ask a coordinator that does not respond until the end, where a new client
   * asks the next coordinator.
   */
  private val lookMs = properties.admin.get("request.timeout.ms").flatMap(_.trim.toLongOption)
    .fold(timeoutMs)(request => math.min(timeoutMs, 2 * request))

  override def maxTimeoutMs(): Option[Long] = guarded("broker settings") {
    val node = get(admin.describeCluster().nodes()).asScala.head
    val broker = new ConfigResource(ConfigResource.Type.BROKER, node.idString)
    try
      get(admin.describeConfigs(ju.Set.of(broker)).all()).asScala.values.headOption
        .flatMap(config => Option(config.get("transaction.max.timeout.ms")))
        .flatMap(_.value.toLongOption)
    catch { case _: AuthorizationException => None }
  }

  override def topicLimits(topics: Set[String]): Map[String, TopicLimits] = {
    val resources = topics.map(topic => new ConfigResource(ConfigResource.Type.TOPIC, topic) -> topic).toMap
    opened(math.min(
      timeoutMs,
      LongestLimitsMs
    )).describeConfigs(resources.keySet.asJava).values.asScala.toMap.flatMap { case (resource, asked) =>
      try {
        val config = get(asked, math.min(timeoutMs, LongestLimitsMs))
        Some(resources(resource) -> TopicLimits(name =>
          Option(config.get(name)).flatMap(c => Option(c.value))
        ))
      } catch { case _: UnknownTopicOrPartitionException | _: AuthorizationException => None }
    }
  }

  /** Twice, because after the first time the client asks another broker: one of them may be frozen. */
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
    val existing = described.flatMap { case (topic, asked) => description(asked).map(topic -> _) }
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

  private def description(asked: KafkaFuture[TopicDescription]): Option[TopicDescription] =
    try Some(get(asked, lookMs))
    // Without the topic, there is nothing to be seen there.
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

  override def close(): Unit = {
    val _ = opening.thenAccept(admin => ClientCloser.close(() => admin.close(Duration.ZERO)))
  }

  private def get[A](future: KafkaFuture[A], limitMs: Long = timeoutMs): A =
    try future.get(limitMs, TimeUnit.MILLISECONDS)
    catch { case e: ExecutionException if e.getCause != null => throw e.getCause }

  private def guarded[A](what: String)(body: => A): A =
    try body
    catch {
      case NonFatal(e) =>
        val cause = Redaction.scrub(e, properties.client)
        throw Errors.writeFailed(
          properties.clusterId,
          properties.bootstrapServers,
          what,
          s"${cause.getClass.getSimpleName}: ${cause.getMessage}",
          cause
        )
    }
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
