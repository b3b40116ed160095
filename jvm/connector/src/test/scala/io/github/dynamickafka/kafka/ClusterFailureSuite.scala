package io.github.dynamickafka.kafka

import java.security.UnrecoverableKeyException
import java.security.cert.CertificateExpiredException
import java.util.concurrent.TimeoutException
import java.{util => ju}

import javax.net.ssl.SSLHandshakeException
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.{
  DisconnectException,
  GroupAuthorizationException,
  SaslAuthenticationException,
  SslAuthenticationException,
  TopicAuthorizationException
}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** The conditions and texts that users see for errors of Kafka's clients. */
class ClusterFailureSuite extends AnyFunSuite with TimeLimit {

  private def caused(error: Throwable, causes: Throwable*): Throwable = {
    (error +: causes).zip(causes).foreach { case (e, cause) => e.initCause(cause) }
    error
  }

  private def condition(error: Throwable): String =
    ClusterFailure("blue", "blue:9092", error, "reason", error).getCondition.stripPrefix("DYNAMIC_KAFKA.")

  private def text(error: Throwable): String = ClusterFailure.text(error)

  test("authentication failures, at any depth of the causes") {
    val store =
      caused(new KafkaException("no client"), new KafkaException("no store"), new UnrecoverableKeyException)
    val refused = Seq(
      new SaslAuthenticationException("wrong password"),
      new SslAuthenticationException("no handshake", new SSLHandshakeException("expired")),
      new KafkaException("no consumer", new SaslAuthenticationException("no ticket")),
      store
    )
    refused.foreach(e => assert(condition(e) == "CLUSTER_AUTHENTICATION_FAILED", e))
  }

  test("authorization failures") {
    val refused =
      Seq(new TopicAuthorizationException(ju.Set.of("orders")), new GroupAuthorizationException("no"))
    refused.foreach(e => assert(condition(e) == "CLUSTER_AUTHORIZATION_FAILED", e))
  }

  test("any other error: the cluster is unreachable") {
    Seq(new TimeoutException, new DisconnectException("gone"), new KafkaException("odd"))
      .foreach(e => assert(condition(e) == "CLUSTER_UNREACHABLE", e))
  }

  test("the text includes the root cause and repeats nothing") {
    val expired = new CertificateExpiredException("NotAfter: yesterday")
    val handshake = caused(new SSLHandshakeException("path: NotAfter"), new RuntimeException("path"), expired)
    assert(
      text(new SslAuthenticationException("no handshake", handshake)) ==
        "no handshake: path: NotAfter: NotAfter: yesterday"
    )
    val alert = new SSLHandshakeException("Received fatal alert: certificate_unknown")
    assert(text(new SslAuthenticationException("refused", alert)).contains("has expired, is missing"))
    assert(text(new TopicAuthorizationException(ju.Set.of(
      "b",
      "a"
    ))) == "not authorized to access topic 'a', 'b'")
    assert(text(new IllegalStateException) == "IllegalStateException")
  }
}
