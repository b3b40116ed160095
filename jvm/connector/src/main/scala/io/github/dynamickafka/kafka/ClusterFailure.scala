package io.github.dynamickafka.kafka

import java.io.EOFException
import java.net.{ConnectException, NoRouteToHostException, SocketTimeoutException, UnknownHostException}
import java.security.GeneralSecurityException
import java.util.concurrent.{CompletableFuture, TimeUnit, TimeoutException}
import java.util.{Locale => JLocale}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import javax.net.ssl.SSLException
import org.apache.kafka.clients.CommonClientConfigs
import org.apache.kafka.clients.CommonClientConfigs.{BOOTSTRAP_SERVERS_CONFIG, SECURITY_PROTOCOL_CONFIG}
import org.apache.kafka.common.config.ConfigException
import org.apache.kafka.common.errors.{
  AuthenticationException,
  AuthorizationException,
  DisconnectException,
  GroupAuthorizationException,
  NetworkException,
  TimeoutException => KafkaTimeoutException,
  TopicAuthorizationException,
  UnknownMemberIdException
}

import io.github.dynamickafka.base.{DaemonThreads, Redaction}
import io.github.dynamickafka.error.{DynamicKafkaError, Errors, FailureText}

/**
 * Maps an error of a Kafka client to an error of this connector: authentication failed, authorization failed, or the
 * cluster is unreachable. The first two fail immediately, the last one after a timeout. Thread-safe.
 */
private[dynamickafka] object ClusterFailure {

  /**
   * @param error the exception of the client
   * @param reason the message for users, without secrets
   * @param cause the cause of the new error, without secrets
   */
  def apply(
      cluster: String,
      bootstrapServers: String,
      error: Throwable,
      reason: String,
      cause: Throwable
  ): Errors.Runtime = {
    val all = FailureText.causes(error)
    if (all.exists(isAuthentication)) {
      Errors.clusterAuthenticationFailed(cluster, bootstrapServers, reason, cause)
    } else if (all.exists(_.isInstanceOf[AuthorizationException])) {
      Errors.clusterAuthorizationFailed(cluster, bootstrapServers, reason, cause)
    } else Errors.clusterUnreachable(cluster, bootstrapServers, reason, cause)
  }

  /** @param properties the properties of the client, whose secrets are redacted in all messages */
  def apply(cluster: String, properties: Map[String, String], error: Throwable): Errors.Runtime =
    apply(
      cluster,
      properties.getOrElse(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, ""),
      error,
      located(Redaction.scrub(text(error), properties), error, properties),
      Redaction.scrub(error, properties)
    )

  /**
   * The reason, with what each address says to a connection if the client only says that there was no answer. Waits for the addresses,
   * for a few seconds at most.
   *
   * @param properties those of the client
   */
  def located(reason: String, error: Throwable, properties: Map[String, String]): String =
    if (FailureText.causes(error).exists(isUnanswered))
      UnansweredAddresses.explain(properties).fold(reason)(addresses => s"$reason ($addresses)")
    else reason

  private def isUnanswered(error: Throwable): Boolean = error match {
    case _: TimeoutException | _: KafkaTimeoutException | _: DisconnectException | _: NetworkException => true
    case e: ConfigException => String.valueOf(e.getMessage).contains("No resolvable bootstrap urls")
    case _ => false
  }

  /** Whether the cluster has refused the credentials, so that the same ones need not be tried again. */
  def isRefused(error: Throwable): Boolean = FailureText.causes(error).exists {
    case ours: DynamicKafkaError => ours.condition.endsWith(".CLUSTER_AUTHENTICATION_FAILED")
    case other => isAuthentication(other)
  }

  /** The messages of the error and its causes, without repetitions. Secrets are not redacted yet. */
  def text(error: Throwable): String = FailureText.causes(error).map(ofOne).foldLeft("") {
    case ("", next) => next
    case (text, next) => if (text.contains(next)) text else s"$text: $next"
  }

  /** The message for users, without secrets, where requests have a time limit. */
  def explain(error: Throwable, limitMs: Long, properties: Map[String, String]): String = error match {
    case _: TimeoutException => s"no response within $limitMs ms"
    case other => Redaction.scrub(text(other), properties)
  }

  private def ofOne(error: Throwable): String = error match {
    case e: TopicAuthorizationException if !e.unauthorizedTopics.isEmpty =>
      s"not authorized to access topic ${e.unauthorizedTopics.asScala.toSeq.sorted.map(t => s"'$t'").mkString(", ")}"
    case e: GroupAuthorizationException if e.groupId != null =>
      s"not authorized to access group '${e.groupId}'"
    // Only for commits, which come from outside of the group.
    case _: UnknownMemberIdException => "the group has active members, so only they can commit offsets"
    // The alert is all that the cluster sends; the details are in the log of the broker.
    case e: SSLException if String.valueOf(e.getMessage).matches(CertificateAlert) =>
      s"${e.getMessage}: the cluster rejected the client's certificate, which has expired, is missing, or was issued " +
        "by an authority that the cluster does not trust"
    case other => Option(other.getMessage).getOrElse(other.getClass.getSimpleName)
  }

  private val CertificateAlert = "Received fatal alert: .*certificate.*"

  /** Includes errors before a request is sent, such as a key store that cannot be opened: the remedy is the same. */
  private def isAuthentication(error: Throwable): Boolean =
    error.isInstanceOf[AuthenticationException] || error.isInstanceOf[GeneralSecurityException] ||
      Redaction.isAboutJaas(error.getMessage)
}

/**
 * Finds why a Kafka client gets no answer, which its time-out does not say: asks each address of the cluster, in parallel, for a
 * limited time. Called when a query or task fails, on the thread that fails.
 */
private[dynamickafka] object UnansweredAddresses {

  /** @param properties those of the client; none of them is in the text but the addresses and the protocol */
  def explain(properties: Map[String, String]): Option[String] = {
    val protocol = properties.getOrElse(SECURITY_PROTOCOL_CONFIG, "PLAINTEXT").toUpperCase(JLocale.ROOT)
    BrokerSocket.addresses(properties.getOrElse(BOOTSTRAP_SERVERS_CONFIG, "")).map { all =>
      val asked = all.distinct.take(MostAddresses)
      val answers = asked.map(address => address -> inThread(of(address, protocol)))
      val texts = answers.map { case ((host, port), answer) =>
        val text = Try(answer.get(LimitMs, TimeUnit.MILLISECONDS))
        s"$host:$port: ${text.getOrElse(s"no answer within $LimitMs ms")}"
      }
      (texts ++ Option.when(all.distinct.size > asked.size)("other addresses were not asked")).mkString("; ")
    }
  }

  private def of(address: (String, Int), protocol: String): String = refusal(address, StepMs).getOrElse(
    if (protocol.endsWith("SSL")) withTls(address, protocol) else withoutTls(address, protocol)
  )

  /** Why an address accepts no connection; None: it does. */
  def refusal(address: (String, Int), timeoutMs: Int): Option[String] =
    Try(BrokerSocket.connect(address, timeoutMs).close()).failed.toOption.map {
      case _: SocketTimeoutException => s"no connection within $timeoutMs ms"
      case other => text(other)
    }

  private def handshake(address: (String, Int)) = Try(BrokerSocket.handshake(address, StepMs))

  private def metadata(address: (String, Int)) =
    Try(BrokerSocket.using(address, isTls = false, StepMs)(BrokerSocket.newestMetadata))

  private def withTls(address: (String, Int), protocol: String): String =
    handshake(address) match {
      case Success(_) => logIn(address, protocol, isTls = true)
      case Failure(_: SocketTimeoutException) => Silent
      case Failure(_) if metadata(address).isSuccess =>
        s"the TLS handshake failed: the listener has no TLS, but 'security.protocol' is $protocol"
      case Failure(e) => s"the TLS handshake failed: ${text(e)}"
    }

  private def withoutTls(address: (String, Int), protocol: String): String =
    metadata(address) match {
      case Success(_) => logIn(address, protocol, isTls = false)
      case Failure(_: SocketTimeoutException) => Silent
      case Failure(e) =>
        if (handshake(address).isSuccess) s"the listener has TLS, but 'security.protocol' is $protocol"
        else s"it accepts connections, but does not answer as a Kafka broker: ${text(e)}"
    }

  /** Names a log-in that is missing. A refused log-in is another error of the client. */
  private def logIn(address: (String, Int), protocol: String, isTls: Boolean): String =
    Try(BrokerSocket.using(address, isTls, StepMs)(BrokerSocket.saslMechanisms)) match {
      case Success(Some(found)) if !protocol.startsWith("SASL") =>
        s"the listener requires a log-in by SASL (${found.mkString(", ")}), but 'security.protocol' is $protocol"
      case Success(_) =>
        "it answers; the brokers may be slow, or have advertised addresses that cannot be reached from here"
      case Failure(_: SocketTimeoutException) => Silent
      case Failure(e) => s"it closed the connection: ${text(e)}"
    }

  private def text(error: Throwable): String = error match {
    case _: UnknownHostException => "unknown host"
    case _: NoRouteToHostException => "no route to the host"
    case e: ConnectException if String.valueOf(e.getMessage).toLowerCase(JLocale.ROOT).contains("refused") =>
      "connection refused"
    case _: EOFException => "the connection was closed"
    case other => FailureText.of(other)
  }

  /** A socket's time limit does not end the resolution of a host name. */
  private def inThread(body: => String): CompletableFuture[String] =
    CompletableFuture.supplyAsync[String](() => body, new DaemonThreads("dynamic-kafka-addresses"))

  private val Silent = "it accepts connections, but does not answer"
  private val MostAddresses = 5
  private val StepMs = 1500
  private val LimitMs = 5000L
}
