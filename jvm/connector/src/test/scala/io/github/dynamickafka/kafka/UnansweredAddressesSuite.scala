package io.github.dynamickafka.kafka

import java.net.{InetAddress, ServerSocket}
import java.util.concurrent.TimeoutException

import scala.util.{Try, Using}

import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.config.ConfigException
import org.apache.kafka.common.errors.SaslAuthenticationException
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{KafkaClusters, SecureCluster, TimeLimit}

/** What a query says about addresses that do not respond to a client of Kafka. */
class UnansweredAddressesSuite extends AnyFunSuite with TimeLimit with BeforeAndAfterAll {
  private val Secret = "pw-of-reader"
  private lazy val clusters = KafkaClusters.start(
    SecureCluster.scram("scram", Map("reader" -> Secret)),
    SecureCluster.mutualTls("tls")
  )
  private lazy val plain = KafkaClusters.start("plain").head

  override def beforeAll(): Unit = {
    val _ = (clusters, plain)
  }
  override def afterAll(): Unit = (plain +: clusters).foreach(_.stop())

  private def explained(servers: String, properties: (String, String)*): String =
    UnansweredAddresses.explain(Map("bootstrap.servers" -> servers) ++ properties).getOrElse("")

  private def protocol(name: String) = "security.protocol" -> name

  /** An address of this machine where nothing listens. */
  private def closed: String =
    Using.resource(new ServerSocket(0, 50, InetAddress.getLoopbackAddress))(s =>
      s"localhost:${s.getLocalPort}"
    )

  test("each address has its own cause") {
    val shut = closed
    val text = explained(s"$shut,nowhere.invalid:9092,${plain.bootstrapServers}")
    assert(text.startsWith(s"$shut: connection refused; nowhere.invalid:9092: unknown host; "), text)
    assert(text.contains(s"${plain.bootstrapServers}: it answers"), text)
  }

  test("TLS for a listener without it, and the reverse") {
    val missing = explained(plain.bootstrapServers, protocol("SSL"))
    assert(missing.contains("the listener has no TLS, but 'security.protocol' is SSL"), missing)
    val unexpected = explained(clusters(1).bootstrapServers)
    assert(unexpected.contains("the listener has TLS, but 'security.protocol' is PLAINTEXT"), unexpected)
  }

  test("a log-in that is missing: the mechanisms of the listener, and no secret") {
    val client = clusters.head.scramClient("reader", Secret)
    val own = (client - "bootstrap.servers").toSeq
    val text = explained(clusters.head.bootstrapServers, own :+ protocol("SSL"): _*)
    assert(text.contains("requires a log-in by SASL (") && text.contains("SCRAM-SHA-"), text)
    assert(text.contains("'security.protocol' is SSL") && !text.contains(Secret), text)
    val right = explained(clusters.head.bootstrapServers, own: _*)
    assert(right.contains("it answers"), right)
  }

  test("an address that accepts connections and does not respond, or not as a broker") {
    Using.resource(new ServerSocket(0, 50, InetAddress.getLoopbackAddress)) { silent =>
      for (name <- Seq("PLAINTEXT", "SSL"))
        assert(explained(s"localhost:${silent.getLocalPort}", protocol(name)).contains("does not answer"))
    }
    Using.resource(new ServerSocket(0, 50, InetAddress.getLoopbackAddress)) { closing =>
      val server = new Thread(() =>
        Iterator.continually(Try(closing.accept())).takeWhile(_.isSuccess).foreach(_.get.close())
      )
      server.setDaemon(true)
      server.start()
      val text = explained(s"localhost:${closing.getLocalPort}")
      assert(text.contains("does not answer as a Kafka broker"), text)
    }
  }

  test("only an error without the cause asks the addresses") {
    val servers = Map("bootstrap.servers" -> closed)
    def reason(error: Throwable) = ClusterFailure("blue", servers, error).getMessageParameters.get("reason")
    Seq(
      new TimeoutException("no response"),
      new KafkaException("no client", new ConfigException("No resolvable bootstrap urls given"))
    ).foreach(e => assert(reason(e).contains("connection refused"), reason(e)))
    Seq(
      new KafkaException("no client", new ConfigException("String must be one of")),
      new SaslAuthenticationException("wrong password")
    ).foreach(e => assert(!reason(e).contains("connection refused"), reason(e)))
    assert(UnansweredAddresses.explain(Map("bootstrap.servers" -> "localhost")).isEmpty)
  }
}
