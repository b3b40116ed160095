package io.github.dynamickafka.kafka

import java.security.GeneralSecurityException

import scala.jdk.CollectionConverters._

import javax.net.ssl.SSLException
import org.apache.kafka.clients.CommonClientConfigs
import org.apache.kafka.common.errors.{
  AuthenticationException,
  AuthorizationException,
  GroupAuthorizationException,
  TopicAuthorizationException,
  UnknownMemberIdException
}

import io.github.dynamickafka.error.Errors

/**
 * Which of our errors it is that a Kafka client tells: the cluster refuses who asks, refuses what is asked, or does
 * not answer. The first two are known at once, the last one after a time-out. Any thread.
 */
private[dynamickafka] object ClusterFailure {

  /**
   * @param error as the client threw it
   * @param reason what users are told of it, without secrets
   * @param cause likewise
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

  /** @param properties of the client that threw it; their secrets are taken out of all texts */
  def apply(cluster: String, properties: Map[String, String], error: Throwable): Errors.Runtime =
    apply(
      cluster,
      properties.getOrElse(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, ""),
      error,
      Redaction.scrub(text(error), properties),
      Redaction.scrub(error, properties)
    )

  /** What the error and its causes say, each thing once. Not yet without secrets. */
  def text(error: Throwable): String = chain(error).map(ofOne).foldLeft("") {
    case ("", next) => next
    case (told, next) => if (told.contains(next)) told else s"$told: $next"
  }

  private def ofOne(error: Throwable): String = error match {
    case e: TopicAuthorizationException if !e.unauthorizedTopics.isEmpty =>
      s"no right to topic ${e.unauthorizedTopics.asScala.toSeq.sorted.map(t => s"'$t'").mkString(", ")}"
    case e: GroupAuthorizationException if e.groupId != null => s"no right to group '${e.groupId}'"
    // Only of commits, which come from outside of the group.
    case _: UnknownMemberIdException => "the group has members of its own, and takes offsets from nobody else"
    // All that the cluster tells of it; the rest is in its own log.
    case e: SSLException if String.valueOf(e.getMessage).matches(CertificateAlert) =>
      s"${e.getMessage}: the cluster does not accept the client's certificate, which has expired, is missing, or is " +
        "of an authority that the cluster does not trust"
    case other => Option(other.getMessage).getOrElse(other.getClass.getSimpleName)
  }

  private val CertificateAlert = "Received fatal alert: .*certificate.*"

  /** A store that does not open, or a log-in that fails before anything is sent, is no other fault to a user. */
  private def isAuthentication(error: Throwable): Boolean =
    error.isInstanceOf[AuthenticationException] || error.isInstanceOf[GeneralSecurityException]

  private def chain(error: Throwable): Seq[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(LongestChain).toSeq

  private val LongestChain = 10
}
