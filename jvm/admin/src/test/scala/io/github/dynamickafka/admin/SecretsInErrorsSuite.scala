package io.github.dynamickafka.admin

import java.io.{PrintWriter, StringWriter}
import java.net.{InetSocketAddress, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.Properties
import java.util.concurrent.{ConcurrentLinkedQueue, Executors}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal
import scala.util.{Random, Using}

import com.sun.net.httpserver.{HttpExchange, HttpServer}
import org.apache.logging.log4j.LogManager
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.Property
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.source.Queries
import io.github.dynamickafka.testkit.TestAll

/**
 * Secrets in each place that takes one, well-formed, malformed and very long, and each way in which that fails: when a frame is made, in
 * a query, a write, a statement and a command. No error, no line of the log and no file of a checkpoint has a part of a secret. Servers
 * answer with the credentials that they were sent.
 */
class SecretsInErrorsSuite extends Queries {
  import SecretsInErrorsSuite._

  test("random failures show no part of a secret")(failures(0 until 25))

  test("further random failures", TestAll)(failures(25 until 400))

  private def failures(histories: Range): Unit = {
    val echo = new Echo
    var (failed, conditions) = (0, Set.empty[String])
    try
      for (seed <- histories.map(TestSeed() + _)) {
        val folder = newFolder()
        val history = new History(seed, echo.address, folder)
        val (error, logged) = logs(history.run())
        failed += error.size
        conditions ++= error.flatMap(e => Condition.findFirstIn(e.getMessage))
        val places = Map(
          "the error" -> error.fold("")(whole),
          "the log" -> logged.mkString("\n"),
          "a file" -> texts(folder.resolve("checkpoint")),
          "the output of a command" -> history.printed
        )
        // Whatever the value is, the error is one of the connector. A command has printed it.
        error.map(whole).filterNot(text =>
          text.contains("DYNAMIC_KAFKA.") || text.contains(CommandFails)
        ).foreach(fail(_))
        for ((place, text) <- places; shown <- history.Secret.findFirstMatchIn(text))
          fail(
            s"seed $seed, $history: $place shows ${text.slice(shown.start - 300, shown.end + 100)}"
          )
      }
    finally echo.close()
    info(s"$failed of ${histories.size} failed, with ${conditions.toSeq.sorted.mkString(", ")}")
    assert(failed > histories.size * 3 / 4 && conditions.size > 3)
  }

  /** One use of the connector. */
  private final class History(seed: Long, echo: String, folder: Path) {
    private val random = new Random(seed)
    private val mark = s"sekret${random.alphanumeric.take(8).mkString.toLowerCase}"

    /** Each part of a secret begins with the same letters. */
    val Secret = s"$mark".r

    private def one[A](all: A*): A = all(random.nextInt(all.size))

    /** Parts around characters that end a value, a line or an address somewhere. */
    private def secret: String = {
      val between = one(
        "",
        "",
        "\"",
        "\\\"",
        "'",
        ";",
        "=",
        "\n",
        " ",
        "@",
        ":",
        "/",
        "?",
        "#",
        "&password=",
        ",",
        "{",
        "}",
        "é",
        "%",
        "\\"
      )
      val parts = Seq.fill(2)(mark + random.nextInt(1000)).mkString(between)
      if (random.nextInt(4) == 0) parts + one("x", between + mark) * 20000 else parts
    }

    private def jaas: String = {
      val module = "org.apache.kafka.common.security." + one(
        "plain.PlainLoginModule",
        "scram.ScramLoginModule",
        "oauthbearer.OAuthBearerLoginModule"
      )
      one(
        s"""$module required username="u" password="$secret";""",
        s"""$module required username="u" password="$secret"""",
        s"""$module required username="u" password='$secret';""",
        s"$module required username=u password=$secret;",
        s"""$module required clientId="c" clientSecret="$secret";""",
        s"""$module password="$secret";""",
        secret
      )
    }

    /** In half of the cases, the clients find the value in a file. */
    private def logIn = Map(
      "sasl.jaas.config" -> (if (random.nextBoolean()) jaas else referred(jaas)),
      "sasl.mechanism" -> one("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER")
    )

    private def referred(value: String): String = {
      val all = new Properties
      all.setProperty("value", value)
      val file = folder.resolve(s"secrets-${random.nextInt(1000000)}.properties")
      Using.resource(Files.newBufferedWriter(file))(all.store(_, null))
      s"$${file:$file:value}"
    }

    private val properties: Map[String, String] = one(
      logIn,
      logIn,
      logIn,
      Map(
        "ssl.keystore.password" -> secret,
        "ssl.keystore.location" -> "/none",
        "ssl.key.password" -> secret
      ),
      Map("ssl.truststore.password" -> secret, "ssl.truststore.type" -> one("PEM", "JKS", "PKCS12")),
      Map(
        "ssl.truststore.certificates" -> s"-----BEGIN CERTIFICATE-----\n$secret",
        "ssl.truststore.type" -> "PEM"
      ),
      Map(
        "ssl.keystore.key" -> secret,
        "ssl.keystore.certificate.chain" -> secret,
        "ssl.keystore.type" -> "PEM"
      ),
      Map("my.plug.in.token" -> secret, "interceptor.classes" -> "no.such.Class"),
      Map("sasl.password" -> secret, "sasl.username" -> secret)
    ) + ("security.protocol" -> one(
      "SASL_SSL",
      "SASL_PLAINTEXT",
      "SASL_PLAINTEXT",
      "SSL",
      "SSL",
      "sasl_ssl",
      "TLS"
    ))

    private def user = s"u:${if (random.nextBoolean()) secret else URLEncoder.encode(secret, UTF_8)}"

    private val place =
      one("document", "broken document", "options", "options", "service", "service", "registry")

    private val document: String = place match {
      case "document" => text(properties, quoted = true)
      case "broken document" => text(properties, quoted = false)
      case _ => text(Map.empty, quoted = true)
    }

    private def text(more: Map[String, String], quoted: Boolean): String = {
      val lines = (more + ("bootstrap.servers" -> "127.0.0.1:1")).map { case (name, value) =>
        val escaped = value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")
        s"      $name: ${if (quoted) "\"" + escaped + "\"" else value}"
      }
      s"version: 1\nclusters:\n  blue:\n    properties:\n${lines.mkString("\n")}\n" +
        "streams:\n  orders:\n    clusters:\n      blue: {topics: [orders]}\n"
    }

    private val ofKafka: Map[String, String] = if (place != "options") Map.empty
    else properties.map { case (name, value) =>
      one("kafka.", "cluster.blue.kafka.", "cluster.blue.") + name -> value
    }

    private val service: Map[String, String] = if (place != "service") one(
      Map("metadataService" -> "file"),
      Map("metadataService" -> "static", "metadataService.document" -> document)
    )
    else one(
      Map(
        "metadataService" -> "http",
        "metadataService.url" -> one(
          s"http://$echo/streams",
          s"http://$user@$echo/streams?token=$secret",
          s"http:$user@/$echo"
        ),
        "metadataService.headers.Authorization" -> s"Bearer $secret",
        s"metadataService.headers.${one("X-Key", "X Key")}" -> secret
      ),
      Map(
        "metadataService" -> "http",
        "metadataService.url" -> s"http://$echo/streams",
        "metadataService.oauth.tokenUrl" -> s"http://$echo/token",
        "metadataService.oauth.clientId" -> "c",
        "metadataService.oauth.clientSecret" -> secret
      ),
      Map(
        "metadataService" -> "jdbc",
        "metadataService.url" -> one(
          s"jdbc:postgresql://127.0.0.1:1/db?user=u&password=$secret",
          s"jdbc:postgresql://$user@127.0.0.1:1/db",
          s"jdbc:none://127.0.0.1/db;password=$secret"
        ),
        "metadataService.query" -> "SELECT 1",
        "metadataService.properties.password" -> secret
      ),
      Map(
        "metadataService" -> "kafka-topic",
        "metadataService.bootstrapServers" -> "127.0.0.1:1",
        "metadataService.topic" -> "streams"
      ) ++
        properties.map { case (name, value) => s"metadataService.properties.$name" -> value },
      Map(
        "metadataService" -> "single-cluster",
        "metadataService.clusterId" -> "blue",
        "metadataService.bootstrapServers" -> "127.0.0.1:1"
      ) ++
        properties.map { case (name, value) => s"metadataService.properties.$name" -> value }
    )

    private val registry: Map[String, String] = if (place != "registry") Map.empty
    else
      Map("format" -> "avro-confluent", "schema" -> "registry", "registry.timeoutMs" -> "1500") ++ one(
        Map("registry.url" -> s"http://$echo", "registry.basicAuth.userInfo" -> user),
        Map("registry.url" -> s"http://$user@$echo"),
        Map("registry.url" -> s"http://$echo", "registry.bearerAuth.token" -> secret),
        Map(
          "registry.url" -> s"http://$echo",
          "registry.oauth.tokenUrl" -> s"http://$echo/token",
          "registry.oauth.clientId" -> "c",
          "registry.oauth.clientSecret" -> secret
        ),
        Map(
          "registry.url" -> s"https://$echo",
          "registry.ssl.keystore.location" -> "/none",
          "registry.ssl.keystore.password" -> secret
        )
      )

    private val way = one("batch", "query", "skip", "write", "statement", "command")
    private val limits =
      Map(
        "clusterRequestTimeoutMs" -> "1500",
        "metadataService.timeoutMs" -> "1500",
        "streamMetadataDiscoveryFailureThreshold" -> "0"
      )

    override def toString: String =
      s"$way, ${service("metadataService")}, secrets in $place, ${properties.keys.toSeq.sorted.mkString(", ")}" +
        registry.keys.toSeq.sorted.map(", " + _).mkString

    var printed = ""

    /** What the use fails with. */
    def run(): Option[Throwable] = {
      val file = Files.writeString(folder.resolve("streams.yaml"), document)
      val timed = if (Set("http", "jdbc", "kafka-topic")(service("metadataService"))) limits
      else limits - "metadataService.timeoutMs"
      val path =
        if (service("metadataService") == "file") Map("metadataService.path" -> file.toString) else Map.empty
      val all = timed ++ path ++ service ++ ofKafka ++ registry
      try {
        way match {
          case "batch" =>
            spark.read.format("dynamic-kafka").options(all + ("streamIds" -> "orders")).load().collect()
          case "query" | "skip" =>
            val policy = if (way == "skip")
              Map("clusterFailurePolicy" -> "skip", "clusterFailureTimeoutMs" -> "1000")
            else Map.empty
            val query = spark.readStream.format(
              "dynamic-kafka"
            ).options(all ++ policy + ("streamIds" -> "orders")).load()
              .writeStream.format("noop").trigger(Trigger.AvailableNow())
              .option("checkpointLocation", folder.resolve("checkpoint").toString).start()
            try query.awaitTermination(120000)
            finally {
              printed = query.recentProgress.mkString
              query.stop()
            }
          case "write" =>
            spark.range(2).select(lit("v").as("value")).write.format("dynamic-kafka").mode("append")
              .options(all ++ Map(
                "streamId" -> "orders",
                "kafka.delivery.timeout.ms" -> "2000",
                "kafka.request.timeout.ms" -> "1000",
                "kafka.linger.ms" -> "0",
                "kafka.max.block.ms" -> "1500"
              ))
              .save()
          case "statement" =>
            val name = s"s${seed.abs}_${random.nextInt(1000000)}"
            all.foreach { case (option, value) => spark.conf.set(s"spark.sql.catalog.$name.$option", value) }
            spark.conf.set(s"spark.sql.catalog.$name", "io.github.dynamickafka.DynamicKafkaCatalog")
            val rows = spark.sql(one(
              s"SELECT * FROM $name.orders",
              s"DESCRIBE TABLE EXTENDED $name.orders",
              s"CALL $name.system.doctor()",
              s"CALL $name.system.streams()"
            )).collect()
            printed = rows.mkString("\n")
          case "command" =>
            val reply = CommandLine.run(one("validate", "doctor", "describe"), "--metadata", file.toString)
            printed = reply.all
            if (reply.exitCode != 0) throw new IllegalStateException(CommandFails)
        }
        None
      } catch { case NonFatal(e) => Some(e) }
    }
  }
}

object SecretsInErrorsSuite {
  private val Condition = """DYNAMIC_KAFKA\.[A-Z_]+""".r

  private val CommandFails = "the command fails"

  /** With the stack and all causes, as a log shows it. */
  private def whole(e: Throwable): String = {
    val text = new StringWriter
    e.printStackTrace(new PrintWriter(text))
    text.toString
  }

  private def texts(folder: Path): String =
    if (!Files.exists(folder)) ""
    else
      Files.walk(folder).iterator.asScala.filter(Files.isRegularFile(_)).map(f =>
        new String(Files.readAllBytes(f), UTF_8)
      ).mkString("\n")

  /** What loggers write while the body runs. */
  private def logs[A](body: => A): (A, Seq[String]) = {
    val lines = new ConcurrentLinkedQueue[String]
    val appender = new AbstractAppender("secrets", null, null, true, Property.EMPTY_ARRAY) {
      override def append(event: LogEvent): Unit = {
        // PostgreSQL's driver logs an address that it cannot parse.
        if (!event.getLoggerName.startsWith("org.postgresql"))
          lines.add(event.getMessage.getFormattedMessage + Option(event.getThrown).fold("")(whole))
        ()
      }
    }
    appender.start()
    val root = LogManager.getRootLogger.asInstanceOf[Logger]
    root.addAppender(appender)
    try {
      val result = body
      result -> lines.asScala.toSeq
    } finally root.removeAppender(appender)
  }

  /** Refuses each request, and shows what it was sent. */
  private final class Echo extends AutoCloseable {
    private val server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0)
    private val threads = Executors.newCachedThreadPool()
    server.setExecutor(threads)
    server.createContext("/", answer(_))
    server.start()

    val address: String = s"127.0.0.1:${server.getAddress.getPort}"

    private def answer(exchange: HttpExchange): Unit = {
      val headers = exchange.getRequestHeaders.asScala.map { case (name, values) =>
        s"$name: ${values.asScala.mkString(",")}"
      }
      val decoded = exchange.getRequestHeaders.asScala.get(
        "Authorization"
      ).map(_.asScala.head).filter(_.startsWith("Basic "))
        .map(basic => new String(java.util.Base64.getDecoder.decode(basic.drop(6)), UTF_8))
      val body = (exchange.getRequestURI.toString +: headers.toSeq ++: decoded.toSeq :+ new String(
        exchange.getRequestBody.readAllBytes,
        UTF_8
      ))
        .mkString("\n").getBytes(UTF_8)
      exchange.sendResponseHeaders(
        if (exchange.getRequestURI.getPath.contains("token")) 400 else 401,
        body.length.toLong
      )
      exchange.getResponseBody.write(body)
      exchange.close()
    }

    override def close(): Unit = {
      server.stop(0)
      threads.shutdownNow()
      ()
    }
  }
}
