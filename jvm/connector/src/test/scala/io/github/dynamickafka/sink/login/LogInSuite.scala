package io.github.dynamickafka.sink.login

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamingQuery

import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.{KafkaCluster, TestAll}

/** Log-ins of Kafka's clients beside SCRAM and certificates, for which there is the testkit's own listener: each reads and writes. */
class LogInSuite extends Queries {
  import LogInSuite._

  /** Runs the body with a broker whose port for clients requires a log-in. */
  private def broker(mechanism: String, jvmOptions: String*)(lines: (String, String)*)(
      body: KafkaCluster => Unit
  ): Unit = {
    val properties = Map(
      "listener.security.protocol.map" -> "CLIENT:SASL_PLAINTEXT,DIRECT:PLAINTEXT,CONTROLLER:PLAINTEXT",
      "sasl.enabled.mechanisms" -> mechanism
    ) ++ lines
    val cluster = KafkaCluster.start("guarded", properties = properties, jvmOptions = jvmOptions)
    try body(cluster)
    finally cluster.stop()
  }

  private def client(cluster: KafkaCluster, mechanism: String, login: String) = Map(
    "bootstrap.servers" -> cluster.bootstrapServers,
    "security.protocol" -> "SASL_PLAINTEXT",
    "sasl.mechanism" -> mechanism,
    "sasl.jaas.config" -> login
  )

  /** The rows of a query that reads one topic and writes another one, with the same log-in, while the body produces. */
  private def copied(cluster: KafkaCluster, client: Map[String, String])(
      body: (StreamingQuery, Seq[String] => Unit) => Unit
  ): Unit = scene { s =>
    target { t =>
      val (from, to) = (newTopicOn(2, cluster), newTopicOn(2, cluster))
      s.orders(Entry("guarded", client, Seq(from)))
      t.out(Entry("guarded", client, Seq(to)))
      val query = t.start(s.frame().select("key", "value"), ExactlyOnce)
      body(
        query,
        values => {
          produce(cluster, from, 2, values)
          settle(query)
        }
      )
      assert(values(cluster, to) == cluster.dump(from).map(_.value).sorted)
    }
  }

  private def refusedAtOnce(cluster: KafkaCluster, client: Map[String, String])(texts: String*): Unit =
    scene { s =>
      s.orders(Entry("guarded", client, Seq(newTopicOn(1, cluster))))
      val e = refused(s.start())
      assert(condition(e) == "CLUSTER_AUTHENTICATION_FAILED", text(e))
      (texts :+ "'guarded'").foreach(part => assert(text(e).contains(part)))
      assert(!text(e).contains(Secret))
    }

  test("PLAIN: user and password", TestAll) {
    broker("PLAIN")(
      "listener.name.client.plain.sasl.jaas.config" -> s"""$Plain required user_reader="$Secret";"""
    ) { cluster =>
      def as(password: String) =
        client(cluster, "PLAIN", s"""$Plain required username="reader" password="$password";""")
      copied(cluster, as(Secret))((_, publish) => Seq("a", "b").foreach(v => publish(Seq(v))))
      refusedAtOnce(cluster, as("wrong"))("Invalid username or password")
    }
  }

  test("OAUTHBEARER: tokens expire while the query runs, and a client that gets none is refused", TestAll) {
    val tokens = new TokenServer("reader", Secret, LifetimeS)
    // For the clients in this JVM.
    sys.props(Allowed) = tokens.tokens
    try
      broker("OAUTHBEARER", s"-D$Allowed=${tokens.publicKeys}")(
        "listener.name.client.oauthbearer.sasl.jaas.config" -> s"$OAuth required;",
        "listener.name.client.oauthbearer.sasl.server.callback.handler.class" ->
          "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
        "sasl.oauthbearer.jwks.endpoint.url" -> tokens.publicKeys,
        "sasl.oauthbearer.expected.audience" -> "kafka",
        // A connection ends with its token, unless the client logs in again.
        "connections.max.reauth.ms" -> "60000"
      ) { cluster =>
        def as(secret: String) =
          client(
            cluster,
            "OAUTHBEARER",
            s"""$OAuth required clientId="reader" clientSecret="$secret";"""
          ) ++
            Map(
              "sasl.login.callback.handler.class" ->
                "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
              "sasl.oauthbearer.token.endpoint.url" -> tokens.tokens,
              // Since Kafka 4.1: otherwise jose4j has to be on the class path (KAFKA-20184).
              "sasl.oauthbearer.jwt.validator.class" ->
                "org.apache.kafka.common.security.oauthbearer.ClientJwtValidator",
              "sasl.login.refresh.window.factor" -> "0.5",
              "sasl.login.refresh.window.jitter" -> "0.0",
              "sasl.login.refresh.min.period.seconds" -> "0",
              "sasl.login.refresh.buffer.seconds" -> "0"
            )
        copied(cluster, as(Secret)) { (_, publish) =>
          publish(Seq("first"))
          val (first, expired) = (tokens.count, Instant.now.plusSeconds(2 * LifetimeS))
          waitFor("tokens that have expired") {
            publish(Seq("more"))
            Instant.now.isAfter(expired)
          }
          assert(tokens.count > first)
        }
        refusedAtOnce(cluster, as("wrong"))("token")
      }
    finally {
      sys.props -= Allowed
      tokens.close()
    }
  }

  test("Kerberos: key tables of principals") {
    val kerberos = new KerberosServer(newFolder())
    try {
      val (service, reader) = (kerberos.principal("kafka/localhost"), kerberos.principal("reader"))
      broker("GSSAPI", s"-Djava.security.krb5.conf=${kerberos.configuration}")(
        "sasl.kerberos.service.name" -> "kafka",
        "listener.name.client.gssapi.sasl.jaas.config" -> keys(service, "kafka/localhost")
      ) { cluster =>
        def as(principal: String) =
          client(cluster, "GSSAPI", keys(reader, principal)) + ("sasl.kerberos.service.name" -> "kafka")
        copied(cluster, as("reader"))((_, publish) => Seq("a", "b").foreach(v => publish(Seq(v))))
        refusedAtOnce(cluster, as("stranger"))("Could not login")
      }
    } finally kerberos.close()
  }

  test("a broker that closes idle connections: the query continues after each pause", TestAll) {
    val cluster = KafkaCluster.start("closing", properties = Map("connections.max.idle.ms" -> "1500"))
    try
      copied(cluster, Map("bootstrap.servers" -> cluster.bootstrapServers)) { (query, publish) =>
        (1 to 3).foreach { round =>
          publish(Seq(s"$round"))
          val open = connections(cluster.listenerPort)
          assert(open.nonEmpty)
          waitFor("the end of an idle connection")(open.diff(connections(cluster.listenerPort)).nonEmpty)
        }
        publish(Seq("last"))
        assert(query.isActive)
      }
    finally cluster.stop()
  }

  /** The addresses of this machine that are connected to a port. */
  private def connections(port: Int): Set[String] =
    Seq("tcp", "tcp6").flatMap { kind =>
      Files.readAllLines(Path.of(s"/proc/net/$kind")).asScala.drop(1).map(_.trim.split("\\s+")).collect {
        case fields if fields(3) == Established && fields(2).endsWith(f":$port%04X") => fields(1)
      }
    }.toSet

  private def keys(table: Path, principal: String) =
    s"""com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true refreshKrb5Config=true
       | keyTab="$table" principal="$principal@TESTS.LOCAL";""".stripMargin.replace("\n", "")
}

private object LogInSuite {
  val Secret = "pw-of-the-reader"

  /** How long a token is valid. */
  val LifetimeS = 6L

  /** In Linux's table of connections. */
  private val Established = "01"
  val Plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
  val OAuth = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

  /** Required of brokers and clients since Kafka 4.0: the addresses that keys and tokens may come from. */
  val Allowed = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
}
