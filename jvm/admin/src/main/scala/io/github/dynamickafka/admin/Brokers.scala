package io.github.dynamickafka.admin

import java.security.cert.{CertPathBuilderException, CertificateException}
import java.time.Duration
import java.util.concurrent.{TimeUnit, TimeoutException}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try, Using}

import javax.net.ssl.SSLException
import org.apache.kafka.clients.admin.{
  Admin,
  DescribeClusterResult,
  DescribeConsumerGroupsOptions,
  DescribeTopicsOptions,
  TopicDescription
}
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig, ProducerRecord}
import org.apache.kafka.common.acl.AclOperation
import org.apache.kafka.common.errors.{
  AuthenticationException,
  AuthorizationException,
  GroupIdNotFoundException,
  SslAuthenticationException,
  UnknownTopicOrPartitionException
}
import org.apache.kafka.common.{KafkaFuture, Node}

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.kafka.{ClusterClients, ClusterFailure, Opening, ProducerSettings}
import io.github.dynamickafka.source.cluster.ClusterConfig

/**
 * What Kafka says about a cluster. The methods but `tls`, `login`, `advertised` and `unanswered` need a log-in that is `ok`, and brokers
 * that answer.
 */
private[admin] final class Brokers(config: ClusterConfig) extends AutoCloseable {
  import Brokers._

  private val properties = config.properties.admin
  private val timeoutMs = config.requestTimeoutMs

  private val protocol = properties.getOrElse("security.protocol", "PLAINTEXT")
  val hasTls: Boolean = protocol.toUpperCase(ju.Locale.ROOT).endsWith("SSL")

  private val opening = ClusterClients.admin(properties)
  private lazy val admin: Try[Admin] = Try(opening.await(timeoutMs))
  private lazy val cluster: Try[DescribeClusterResult] = admin.flatMap { client =>
    val found = client.describeCluster()
    answer(found.nodes).map(_ => found)
  }

  /**
   * What the addresses of `bootstrap.servers` name. An admin client asks only nodes at the addresses that they advertise, and does not
   * say more than that none of them answers; the first request of a consumer goes to `bootstrap.servers`.
   */
  private lazy val nodes: Try[Seq[Node]] =
    cluster.flatMap(found => answer(found.nodes)).map(_.asScala.toSeq).recoverWith {
      case e if caused(e, Timeout: _*) =>
        leaders.filter(_.nonEmpty).orElse(Failure(e))
    }

  private def leaders: Try[Seq[Node]] =
    Try(Using.resource(new KafkaConsumer[Array[Byte], Array[Byte]](config.consumer.forConsumer))(
      _.listTopics(Duration.ofMillis(timeoutMs)).values.asScala.toSeq.flatMap(_.asScala)
        .flatMap(partition => Option(partition.leader)).distinct
    ))

  /** None: the brokers answer. Else why nothing can be asked but what the addresses of `bootstrap.servers` say. */
  def unanswered: Option[Finding] = cluster.failed.toOption.map(e =>
    Finding.failed(
      s"no answer to a request: ${text(e)}",
      "correct security.protocol, the port, or advertised.listeners of the brokers"
    )
  )

  /** @param speaksTls whether the port answers with TLS */
  def tls(speaksTls: => Boolean): Finding = nodes match {
    case _ if !hasTls => Finding.ok("security.protocol has no TLS")
    case Failure(e) if caused(e, classOf[CertificateException], classOf[CertPathBuilderException]) =>
      Finding.failed(
        s"the broker's certificate is not accepted: ${text(e)}",
        "correct the trust store (ssl.truststore.*), or the names in the broker's certificate"
      )
    case Failure(e) if caused(e, classOf[SslAuthenticationException], classOf[SSLException]) =>
      Finding.failed(
        s"no TLS connection: ${text(e)}",
        "correct ssl.*, or the port, which may have no TLS"
      )
    case Success(_) => Finding.ok("the certificate is trusted")
    case Failure(_) if speaksTls =>
      Finding.ok("the port has TLS; whether the certificate is trusted is not known")
    case Failure(_) => Finding.failed(
        "no TLS handshake",
        "correct the port, or security.protocol: the port probably has no TLS"
      )
  }

  /** @param speaksTls whether the port answers with TLS */
  def login(speaksTls: => Boolean): Finding = nodes match {
    case Success(_) => Finding.ok(protocol)
    case Failure(e) if caused(e, classOf[AuthenticationException]) =>
      Finding.failed(
        s"the credentials are refused: ${text(e)}",
        "correct user, password and sasl.mechanism in the metadata"
      )
    case Failure(_) if !hasTls && speaksTls =>
      Finding.failed(
        "the port has TLS, but security.protocol has none",
        "correct security.protocol, or the port"
      )
    case Failure(e) => unanswered.getOrElse(throw e)
  }

  /** The rights that are missing: the topics that may not be described, and those that may not be read. */
  def lacking(topics: Seq[String]): Seq[(String, String)] =
    describe(topics).flatMap { case (topic, found) => right(found).map(topic -> _) }

  private def right(found: Try[TopicDescription]): Option[String] = found match {
    case Success(topic) => Option.when(!allows(topic.authorizedOperations))(Read)
    case Failure(e) => Option.when(caused(e, classOf[AuthorizationException]))(Describe)
  }

  private def describe(topics: Seq[String]): Seq[(String, Try[TopicDescription])] =
    admin.get.describeTopics(topics.asJava, new DescribeTopicsOptions().includeAuthorizedOperations(true))
      .topicNameValues.asScala.toSeq.sortBy(_._1).map { case (topic, future) => topic -> answer(future) }

  /** @param patterns of names of topics */
  def topics(topics: Seq[String], patterns: Seq[String]): Finding = {
    val failed = describe(topics).flatMap { case (topic, found) =>
      right(found).map(lacking => s"topic $topic: no right to $lacking").orElse(found.failed.toOption.map(e =>
        if (caused(e, classOf[UnknownTopicOrPartitionException]))
          s"topic $topic does not exist"
        else s"topic $topic: ${text(e)}"
      ))
    }
    lazy val there = answer(admin.get.listTopics().names()).map(_.asScala.toSeq).getOrElse(Nil)
    val unmatched = patterns.filterNot(p => there.exists(_.matches(p))).map(p => s"no topic matches $p")
    val remedy =
      "create the topic, correct its name, or grant Describe and Read (and Write to queries that write)"
    if (failed.nonEmpty) Finding.failed((failed ++ unmatched).mkString("; "), remedy)
    else if (unmatched.nonEmpty) Finding.warning(unmatched.mkString("; "), remedy)
    else Finding.ok(
      if (topics.isEmpty) "no topics by name" else s"${topics.size} topics exist and may be read"
    )
  }

  /** Whether the group of `commitOffsets` may be used. */
  def groups(group: Option[String]): Finding =
    group.fold(Finding.ok("no group.id in the metadata; only commitOffsets needs a group")) { id =>
      val remedy = s"grant Read on the group $id, or leave commitOffsets off"
      val options = new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true)
      answer(admin.get.describeConsumerGroups(ju.List.of(id), options).describedGroups.get(id)) match {
        case Success(found) if allows(found.authorizedOperations) => Finding.ok(s"group $id may be used")
        case Success(_) => Finding.failed(s"group $id: no right to Read", remedy)
        case Failure(e) if caused(e, classOf[GroupIdNotFoundException]) =>
          Finding.ok(s"group $id does not exist yet")
        case Failure(e) if caused(e, classOf[AuthorizationException]) =>
          Finding.failed(s"group $id: no right to Describe", remedy)
        case Failure(e) => Finding("failed", s"group $id: ${text(e)}")
      }
    }

  /** @param judge what is said about the `cluster.id` */
  def clusterId(judge: String => Finding): Finding =
    answer(cluster.get.clusterId).toOption.flatMap(Option(_)).filter(_.nonEmpty).fold(
      Finding("warning", "the brokers give no cluster.id, so a replaced cluster is not recognized")
    )(judge)

  /**
   * Whether a transaction can write to a topic; the transaction is aborted.
   *
   * @param settings of a producer of this cluster
   */
  def transactionalIds(topic: String, settings: ProducerSettings): Finding = {
    val id = s"$Prefix-doctor"
    val producer = new KafkaProducer[Array[Byte], Array[Byte]](settings.and(
      ProducerConfig.TRANSACTIONAL_ID_CONFIG -> id,
      ProducerConfig.LINGER_MS_CONFIG -> "0",
      ProducerConfig.MAX_BLOCK_MS_CONFIG -> timeoutMs.toString,
      ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG -> timeoutMs.toString,
      ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG -> timeoutMs.toString
    ).forProducer)
    try
      Try {
        producer.initTransactions()
        producer.beginTransaction()
      } match {
        case Failure(e) =>
          Finding.failed(s"$id: ${text(e)}", s"grant Write on transactional ids with the prefix $Prefix")
        case Success(_) =>
          val record = new ProducerRecord[Array[Byte], Array[Byte]](topic, "dynamic-kafka doctor".getBytes)
          val sent = Try(producer.send(record).get(timeoutMs, TimeUnit.MILLISECONDS))
          val aborted = Try(producer.abortTransaction())
          (sent, aborted) match {
            case (Failure(e), _) => Finding.failed(
                s"no record can be written to $topic: ${text(Option(e.getCause).getOrElse(e))}",
                s"grant Write on $topic"
              )
            case (_, Failure(e)) => Finding("failed", s"$id: ${text(e)}")
            case _ => Finding.ok(s"a transaction wrote to $topic and was aborted")
          }
      }
    finally producer.close(Duration.ZERO)
  }

  /** @param wanted `transaction.timeout.ms` of the metadata */
  def transactionTimeout(wanted: Option[String]): Finding =
    inTime(ClusterClients.maxTransactionTimeoutMs(admin.get, timeoutMs).getOrElse(
      throw new NoSuchElementException("the broker does not have it")
    )) match {
      case Failure(e) => Finding.warning(
          s"transaction.max.timeout.ms is not known: ${text(e)}",
          "grant DescribeConfigs on the cluster; only exactly-once needs it"
        )
      case Success(allowed) => wanted.flatMap(_.toLongOption).filter(_ > allowed) match {
          case Some(more) => Finding.failed(
              s"the brokers allow $allowed ms, transaction.timeout.ms is $more",
              "lower transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers"
            )
          case None if allowed < OfSinkMs =>
            Finding.warning(
              s"the brokers allow only $allowed ms",
              "raise transaction.max.timeout.ms of the brokers to 15 minutes"
            )
          case None => Finding.ok(s"the brokers allow $allowed ms")
        }
    }

  /** The addresses by which the brokers want to be reached. */
  def advertised: Seq[(String, Int)] =
    nodes.map(_.map(node => node.host -> node.port)).getOrElse(Nil)

  override def close(): Unit = opening.close()

  private def answer[A](future: KafkaFuture[A]): Try[A] = inTime(Opening.answer(future, timeoutMs))

  private def inTime[A](ask: => A): Try[A] = Try(ask).recoverWith {
    case _: TimeoutException => Failure(new TimeoutException(s"no response within $timeoutMs ms"))
  }

  private def text(e: Throwable): String = Redaction.scrub(ClusterFailure.text(e), properties)
}

private[admin] object Brokers {

  val Read = "Read"
  val Describe = "Describe"
  private val Prefix = "dynamic-kafka"

  /** What the sink asks for, unless the brokers allow less. */
  private val OfSinkMs = 15L * 60 * 1000

  private val Timeout =
    Seq(classOf[TimeoutException], classOf[org.apache.kafka.common.errors.TimeoutException])

  private def caused(e: Throwable, by: Class[_]*): Boolean =
    FailureText.causes(e).exists(cause => by.exists(_.isInstance(cause)))

  /** Old brokers do not say which operations are allowed. */
  private def allows(operations: ju.Set[AclOperation]): Boolean =
    operations == null || operations.isEmpty || operations.contains(AclOperation.READ) ||
      operations.contains(AclOperation.ALL)
}

/**
 * The result of a check, without secrets.
 *
 * @param status `ok`, `warning`, `failed` (a query would fail, or not read or write something) or `skipped`
 * @param remedy what to do about it, if anything has to be done
 */
private[admin] final case class Finding(status: String, message: String, remedy: Option[String] = None) {
  def isFailed: Boolean = status == "failed"
}

private[admin] object Finding {
  def ok(message: String): Finding = Finding("ok", message)
  def warning(message: String, remedy: String): Finding = Finding("warning", message, Some(remedy))
  def failed(message: String, remedy: String): Finding = Finding("failed", message, Some(remedy))
  def skipped(message: String): Finding = Finding("skipped", message)
}

/** A check of one cluster. */
private[admin] final case class Check(cluster: String, name: String, result: Finding)

private[admin] object Check {

  /** The checks, in their order, as the command has them. */
  val Names: Seq[String] = Seq(
    "dns",
    "tcp",
    "tls",
    "login",
    "versions",
    "topics",
    "groups",
    "transactional_ids",
    "cluster_id",
    "transaction_timeout",
    "advertised"
  )

  /** Behind a failure of one of these, nothing else can be said. */
  private val Needed = Set("dns", "tcp", "tls", "login")

  /** Runs the checks of a cluster, and skips those behind a failed one. */
  def run(cluster: String, check: String => Finding): Seq[Check] =
    Names.foldLeft((Vector.empty[Check], Option.empty[String])) { case ((done, failed), name) =>
      val result = failed.fold(check(name))(before => Finding.skipped(s"behind '$before'"))
      (
        done :+ Check(cluster, name, result),
        failed.orElse(Option.when(result.isFailed && Needed(name))(name))
      )
    }._1

  /** Two ids of one Kafka cluster are read twice where they share a topic. */
  def withDuplicates(checks: Seq[Check]): Seq[Check] = {
    def kafkaId(c: Check) =
      Option.when(c.name == "cluster_id" && c.result.status == "ok")(c.result.message.takeWhile(_ != ','))
    val first = checks.reverse.flatMap(c => kafkaId(c).map(_ -> c.cluster)).toMap
    checks.map(c =>
      kafkaId(c).filter(first(_) != c.cluster).fold(c)(id =>
        c.copy(result =
          Finding.warning(
            s"$id, as cluster ${first(id)}: two ids of one Kafka cluster",
            "remove one of them, or see allowDuplicateClusters"
          )
        )
      )
    )
  }
}
