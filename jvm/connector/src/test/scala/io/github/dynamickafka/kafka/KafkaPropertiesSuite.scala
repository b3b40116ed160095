package io.github.dynamickafka.kafka

import java.nio.file.{Files, Path}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import org.apache.kafka.clients.admin.{AdminClient, AdminClientConfig}
import org.apache.kafka.clients.consumer.{ConsumerConfig, KafkaConsumer}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig}
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.config.ConfigDef.Type
import org.apache.kafka.common.serialization.{ByteArrayDeserializer, ByteArraySerializer}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.config.{SinkOptions, SourceOptions}
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.watch.Resolution
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.testkit.{LocalCertificates, TimeLimit}

/** What no client of Kafka takes is refused where it is written, with the name of the property and without its secrets. */
class KafkaPropertiesSuite extends AnyFunSuite with TimeLimit {

  private val servers = "bootstrap.servers" -> "127.0.0.1:1"
  private val module = "org.apache.kafka.common.security.plain.PlainLoginModule required "

  /** What is said of each of these. Secrets among them begin with `sekret`. */
  private val wrong = Seq(
    Map(
      "isolation.level" -> "READ_COMMITTED"
    ) -> "'READ_COMMITTED': String must be one of: read_committed, read_uncommitted",
    Map("Max.Partition.Fetch.Bytes" -> "8MB") -> "its value: Not a number of type INT",
    Map("acks" -> "some") -> "String must be one of: all, -1, 0, 1",
    Map("security.protocol" -> "TLS") -> "SASL_SSL",
    Map("request.timeout.ms" -> "-5") -> "Value must be at least 0",
    Map("sasl.username" -> "sekret-name") -> "librdkafka. Kafka's Java clients have 'sasl.jaas.config'",
    Map("ssl.ca.location" -> "/ca.pem") -> "'ssl.truststore.location', with 'ssl.truststore.type' PEM",
    Map(
      "sasl.jaas.config" -> s"""$module username="a" password="sekret-1"sekret-2";"""
    ) -> "one login module",
    Map("sasl.jaas.config" -> s"""$module username="a" password="sekret-1"""") -> "a semicolon at the end",
    Map(
      "ssl.truststore.type" -> "PEM",
      "ssl.truststore.password" -> "sekret-3"
    ) -> "with 'ssl.truststore.type' PEM, a store has no password"
  )

  private def refused(body: => Any) = intercept[DynamicKafkaIllegalArgumentException](body)

  private def assertSaid(
      e: DynamicKafkaIllegalArgumentException,
      condition: String,
      name: String,
      said: String
  ): Unit = {
    val text = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString("\n")
    assert(e.condition.endsWith(condition) && text.contains(name) && text.contains(said), text)
    assert(!text.contains("sekret"), text)
  }

  private def named(properties: Map[String, String]): String =
    properties.keys.find(_.endsWith("password")).getOrElse(properties.head._1)

  test("properties among options, of all clusters and of one, for reading and writing") {
    for {
      (properties, said) <- wrong
      prefix <- Seq("kafka.", "cluster.eu.blue.kafka.", "cluster.eu.blue.")
    } {
      def options(streams: String) =
        new CaseInsensitiveStringMap((properties.map { case (k, v) => s"$prefix$k" -> v } ++ Map(
          "metadataService" -> "file",
          "metadataService.path" -> "/streams.yaml",
          streams -> "orders"
        )).asJava)
      Seq(() => SourceOptions.parse(options("streamIds")), () => SinkOptions.parse(options("streamId")))
        .foreach(parse => assertSaid(refused(parse()), "INVALID_OPTION", prefix + named(properties), said))
    }
  }

  test("properties in a document, with the line, and in the answer of any service") {
    for ((properties, said) <- wrong) {
      val lines = properties.map { case (k, v) => s"      $k: '${v.replace("'", "''")}'" }.mkString("\n")
      val document =
        "version: 1\nclusters:\n  blue:\n    properties:\n      bootstrap.servers: a:1\n" + lines +
          "\nstreams: {orders: {clusters: {blue: {topics: [a]}}}}"
      val e = refused(MetadataDocument.parse(document, "streams.yaml"))
      assertSaid(e, "METADATA_INVALID", named(properties), said)
      val line = document.linesIterator.indexWhere(_.contains(named(properties))) + 1
      assert(e.getMessage.contains(s"line $line"), e.getMessage)
      val stream =
        new KafkaStream(
          "orders",
          Map("blue" -> ClusterMetadata.of((properties + servers).asJava).withTopics(ju.List.of("a"))).asJava
        )
      val subscription = SourceOptions.parse(new CaseInsensitiveStringMap(Map(
        "metadataService" -> "file",
        "metadataService.path" -> "/streams.yaml",
        "streamIds" -> "orders"
      ).asJava)).metadata.subscription
      assertSaid(
        refused(Resolution.resolve(subscription, false, Map("orders" -> stream), _ => true)),
        "METADATA_INVALID",
        named(properties),
        said
      )
    }
  }

  test("what Kafka's clients take or refuse, for random values of all properties") {
    val random = new Random(TestSeed())
    val values = Seq(
      "",
      " ",
      "-1",
      "0",
      "1",
      "-2",
      "1.5",
      "true",
      "TRUE",
      "yes",
      "8MB",
      "99999999999",
      "all",
      "none",
      "PLAINTEXT",
      "ssl",
      "read_committed",
      "READ_COMMITTED",
      "a,b",
      "x" * 1000,
      "é",
      "latest",
      "LATEST",
      "by_duration:PT1H",
      "zstd"
    )
    val noPlugIn = KafkaProperties.names.filter(name =>
      // Lists of classes are loaded, and what has addresses connects or is resolved.
      !KafkaProperties.typeOf(name).contains(Type.CLASS) && !name.matches(
        "bootstrap.*|.*(classes|reporters|providers|assignment.strategy|interceptors|security.providers)|sasl\\.jaas.*|ssl\\.(key|trust)store.*"
      )
    )
    def config(make: => Any) = Try(make).failed.toOption.map(_.toString)
    var refusals = 0
    for (name <- noPlugIn; _ <- 1 to 4; value = values(random.nextInt(values.size))) {
      def of(more: (String, String)*) = (more ++ Seq(servers, name -> value)).toMap[String, AnyRef].asJava
      val bytes = Seq("key", "value")
      val made = Seq(
        config(new AdminClientConfig(of())),
        config(new ConsumerConfig(of(bytes.map(side =>
          s"$side.deserializer" -> classOf[ByteArrayDeserializer].getName
        ): _*))),
        config(new ProducerConfig(of(bytes.map(side =>
          s"$side.serializer" -> classOf[ByteArraySerializer].getName
        ): _*)))
      )
      // What a client refuses because of another property is not about this one.
      val byKafka = made.flatten.filter(_.contains(s"for configuration $name"))
      val found = KafkaProperties.problems(Map(name -> value))
      assert(found.nonEmpty == byKafka.nonEmpty, s"$name=$value: $found, $made")
      refusals += found.size
    }
    assert(refusals > 100)
  }

  test("no value and no reference of a valid log-in is refused") {
    Seq(
      Map("sasl.jaas.config" -> s"$${file:/secrets:jaas}"),
      Map("sasl.jaas.config" -> s"""$module username="a" password="b\\"c\\\\d";"""),
      Map("sasl.jaas.config" -> s"""$module username="a" password="$${file:/secrets:password}";"""),
      Map("isolation.level" -> s"$${env:LEVEL}"),
      Map("ssl.truststore.type" -> "JKS", "ssl.truststore.password" -> "x"),
      Map("ssl.keystore.type" -> "PEM", "ssl.key.password" -> "x"),
      Map("security.protocol" -> "sasl_ssl", "sasl.login.callback.handler.class" -> "not.on.this.ClassPath"),
      Map("my.plug.in" -> "anything"),
      Map("sasl.jaas.config" -> "secret")
    ).foreach(properties => assert(KafkaProperties.problems(properties) == Nil))
  }

  test("key, certificate and authority as three files of PEM, as Strimzi mounts them") {
    val folder = Files.createTempDirectory("user")
    val pem = new LocalCertificates(folder.resolve("stores"), clients = true).clientInPem
    val files = Map(
      "ssl.keystore.certificate.chain" -> "user.crt",
      "ssl.keystore.key" -> "user.key",
      "ssl.truststore.certificates" -> "ca.crt"
    )
    files.foreach { case (name, file) => Files.writeString(folder.resolve(file), pem(name)) }
    def properties(folder: Path) = pem ++ Map(servers, "security.protocol" -> "SSL") ++
      files.map { case (name, file) => name -> s"$${dir:$folder:$file}" }
    assert(KafkaProperties.problems(properties(folder)) == Nil)
    val made = ClientDefaults.admin(properties(folder), 1000L)
    AdminClient.create((made: Map[String, AnyRef]).asJava).close()
    // The files are read.
    val wrong = ClientDefaults.admin(properties(folder.resolve("stores")), 1000L)
    intercept[KafkaException](AdminClient.create((wrong: Map[String, AnyRef]).asJava))
  }

  test("Kafka's messages about a log-in are not passed on") {
    val jaas = s"""$module username="a" password="sekret-1"sekret-2";"""
    val all = Map(
      servers,
      "security.protocol" -> "SASL_PLAINTEXT",
      "sasl.mechanism" -> "PLAIN",
      "sasl.jaas.config" -> jaas
    )
    val bytes = classOf[ByteArrayDeserializer].getName
    val serializer = classOf[ByteArraySerializer].getName
    Seq[Map[String, AnyRef] => AutoCloseable](
      p => AdminClient.create(p.asJava),
      p =>
        new KafkaConsumer[Array[Byte], Array[Byte]]((p ++ Map(
          "key.deserializer" -> bytes,
          "value.deserializer" -> bytes
        )).asJava),
      p =>
        new KafkaProducer[Array[Byte], Array[Byte]]((p ++ Map(
          "key.serializer" -> serializer,
          "value.serializer" -> serializer
        )).asJava)
    ).foreach { make =>
      val failure = intercept[Exception](make(all).close())
      assert(Iterator.iterate[Throwable](failure)(
        _.getCause
      ).takeWhile(_ != null).exists(_.toString.contains("sekret")))
      val e = ClusterFailure("blue", all, failure)
      assert(e.condition.endsWith("CLUSTER_AUTHENTICATION_FAILED"))
      assert(e.getMessage.contains("'sasl.jaas.config' cannot be used: it has to be one login module"))
      val whole = new java.io.StringWriter
      e.printStackTrace(new java.io.PrintWriter(whole))
      assert(!whole.toString.contains("sekret"), whole)
    }
  }
}
