package io.github.dynamickafka

import java.{time => jt}

import scala.concurrent.duration._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.config.{MetadataServiceSpecs, Options}
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, StreamHistory}
import io.github.dynamickafka.testkit.TimeLimit

/** Metadata services as Scala users write them, with the names and parameters of the Python package. */
class BuiltInMetadataServiceSuite extends AnyFunSuite with TimeLimit {

  private val blue =
    ClusterMetadata(
      topics = Seq("orders"),
      properties = Map("bootstrap.servers" -> "b:1", "password" -> "pw")
    )

  private val services = Seq[(BuiltInMetadataService, Map[String, String], String)](
    (
      FileMetadataService("streams.yaml", ttl = "5s"),
      Map("path" -> "streams.yaml", "ttlMs" -> "5s"),
      "FileMetadataService(streams.yaml)"
    ),
    (
      SingleClusterMetadataService("blue", "b:1", properties = Map("client.id" -> "me")),
      Map("clusterId" -> "blue", "bootstrapServers" -> "b:1", "properties.client.id" -> "me"),
      "SingleClusterMetadataService(blue, b:1)"
    ),
    (
      HttpMetadataService(
        "https://me:pw@host:1/streams?token=pw",
        headers = Map("Authorization" -> "pw"),
        timeout = 2.seconds
      ),
      Map(
        "url" -> "https://me:pw@host:1/streams?token=pw",
        "headers.Authorization" -> "pw",
        "timeoutMs" -> "2000"
      ),
      "HttpMetadataService(https://host:1/streams)"
    ),
    (
      KubernetesConfigMapMetadataService("ns", "streams", "streams.yaml", timeout = 7, ttl = 8L),
      Map(
        "namespace" -> "ns",
        "name" -> "streams",
        "key" -> "streams.yaml",
        "timeoutMs" -> "7",
        "ttlMs" -> "8"
      ),
      "KubernetesConfigMapMetadataService(ns, streams, streams.yaml)"
    ),
    (
      StrimziMetadataService(
        "kafka",
        listener = "tls",
        label = "example.com/stream",
        properties = Map("sasl.jaas.config" -> "pw"),
        ttl = "1s"
      ),
      Map(
        "namespace" -> "kafka",
        "listener" -> "tls",
        "label" -> "example.com/stream",
        "properties.sasl.jaas.config" -> "pw",
        "ttlMs" -> "1s"
      ),
      "StrimziMetadataService(kafka)"
    ),
    (
      JdbcMetadataService(
        "jdbc:h2:mem:pw",
        "SELECT 1",
        properties = Map("password" -> "pw"),
        timeout = jt.Duration.ofSeconds(1)
      ),
      Map(
        "url" -> "jdbc:h2:mem:pw",
        "query" -> "SELECT 1",
        "properties.password" -> "pw",
        "timeoutMs" -> "1000"
      ),
      "JdbcMetadataService()"
    ),
    (
      KafkaTopicMetadataService("b:1", "streams", properties = Map("sasl.jaas.config" -> "pw")),
      Map("bootstrapServers" -> "b:1", "topic" -> "streams", "properties.sasl.jaas.config" -> "pw"),
      "KafkaTopicMetadataService(b:1, streams)"
    ),
    (
      HttpMetadataService(
        "http://c:8500",
        oauth = ClientCredentials("http://login/token", "reader", "pw", scope = "streams")
      ),
      Map(
        "url" -> "http://c:8500",
        "oauth.tokenUrl" -> "http://login/token",
        "oauth.clientId" -> "reader",
        "oauth.clientSecret" -> "pw",
        "oauth.scope" -> "streams"
      ),
      "HttpMetadataService(http://c:8500)"
    )
  )

  test("each service of the connector sets its options, and shows no credentials") {
    services.foreach { case (service, arguments, text) =>
      val prefixed = arguments.map { case (name, value) => s"metadataService.$name" -> value }
      assert(service.toOptions - "metadataService" == prefixed)
      assert(
        new DynamicKafkaReaderBuilder(null).setKafkaMetadataService(service).options() == service.toOptions
      )
      assert(service.toString == text)
    }
    val named = services.map(_._1.toOptions("metadataService")) :+ StaticMetadataService(Nil).spec.name
    assert(named.toSet == MetadataServiceSpecs.all.map(_.name).toSet)
  }

  test("the parameters of each service are the arguments of its spec") {
    services.foreach { case (service, _, _) =>
      val own = service.productElementNames.zip(service.productIterator).flatMap {
        case (name, _: TimeArgument) => Seq(s"${name}Ms")
        case (name, _: Map[_, _]) => Seq(s"$name.")
        case ("oauth", _) => ClientCredentials("", "", "").productElementNames.map(name => s"oauth.$name")
        case (name, _) => Seq(name)
      }
      assert(own.toSet == (service.spec.arguments.map(_.name) ++ service.spec.prefix.map(_.name)).toSet)
    }
  }

  test("a later service replaces an earlier one with all of its arguments") {
    val builder = new DynamicKafkaReaderBuilder(null)
      .setKafkaMetadataService(HttpMetadataService("http://h", timeout = "1s"))
      .setKafkaMetadataService(FileMetadataService("streams.yaml"))
      .setStreamIds("orders")
    assert(builder.options() ==
      Map("metadataService" -> "file", "metadataService.path" -> "streams.yaml", "streamIds" -> "orders"))
  }

  test("static: streams become a document") {
    val streams = Seq(
      KafkaStream("orders", Map("green" -> blue, "blue" -> blue), formatOptions = Map("format" -> "json")),
      KafkaStream(
        "payments",
        Map(
          "blue" -> ClusterMetadata(
            topicPattern = "pay-.*",
            properties = Map("bootstrap.servers" -> "b:1", "password" -> "pw"),
            startingOffsets = "latest",
            stoppingOffsets = "1763700000001",
            state = ClusterMetadata.Draining,
            write = false,
            formatOptions = Map("registry.url" -> "http://r", "registry.subject" -> "s")
          ),
          "red" -> ClusterMetadata(
            partitions = Map("p" -> Seq(0, 2)),
            replaces = "old",
            properties = Map("bootstrap.servers" -> "r:1")
          )
        ),
        history = new StreamHistory("parquet", "/old", java.util.Map.of("mergeSchema", "true"), "blue")
      )
    )
    val service = StaticMetadataService(streams)
    val document = service.toOptions("metadataService.document")
    assert(MetadataDocument.parse(document, "text").values.toSeq == streams)
    assert(!service.toString.contains("pw"))
  }

  test("static: streams that contradict each other are refused, without values") {
    val other = ClusterMetadata(topics = Seq("o"), properties = Map("bootstrap.servers" -> "other:1"))
    val orders = KafkaStream("orders", Map("blue" -> blue))
    val conflict = refused(
      StaticMetadataService(Seq(orders, KafkaStream("payments", Map("blue" -> other))))
    )
    assert(conflict.getMessage.contains("METADATA_INVALID"))
    assert(conflict.getMessage.contains("bootstrap.servers, password") && !conflict.getMessage.contains("pw"))
    assert(refused(StaticMetadataService(Seq(orders, orders))).getMessage.contains("METADATA_INVALID"))
  }

  test("the description of a query names its streams") {
    def text(set: DynamicKafkaReaderBuilder => DynamicKafkaReaderBuilder) = {
      val builder = new DynamicKafkaReaderBuilder(null)
        .setKafkaMetadataService(FileMetadataService("streams.yaml"))
      Options.parseOnly(set(builder).options().toSeq: _*).metadata.subscription.text
    }
    assert(text(_.setStreamIds("orders", "payments")) == "streams: orders, payments")
    assert(text(_.setStreamPattern("eu\\..*")) == "pattern: eu\\..*")
  }
}
