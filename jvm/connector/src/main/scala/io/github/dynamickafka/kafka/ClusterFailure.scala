package io.github.dynamickafka.kafka

import java.security.GeneralSecurityException
import java.util.concurrent.TimeoutException

import scala.jdk.CollectionConverters._

import javax.net.ssl.SSLException
import org.apache.kafka.clients.CommonClientConfigs
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

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.{DynamicKafkaError, Errors}

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
    val all = chain(error)
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
    if (chain(error).exists(isUnanswered))
      UnansweredAddresses.explain(properties).fold(reason)(addresses => s"$reason ($addresses)")
    else reason

  private def isUnanswered(error: Throwable): Boolean = error match {
    case _: TimeoutException | _: KafkaTimeoutException | _: DisconnectException | _: NetworkException => true
    case e: ConfigException => String.valueOf(e.getMessage).contains("No resolvable bootstrap urls")
    case _ => false
  }

  /** Whether the cluster has refused the credentials, so that the same ones need not be tried again. */
  def isRefused(error: Throwable): Boolean = chain(error).exists {
    case ours: DynamicKafkaError => ours.condition.endsWith(".CLUSTER_AUTHENTICATION_FAILED")
    case other => isAuthentication(other)
  }

  /** The messages of the error and its causes, without repetitions. Secrets are not redacted yet. */
  def text(error: Throwable): String = chain(error).map(ofOne).foldLeft("") {
    case ("", next) => next
    case (text, next) => if (text.contains(next)) text else s"$text: $next"
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

  private def chain(error: Throwable): Seq[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(LongestChain).toSeq

  private val LongestChain = 10
}
