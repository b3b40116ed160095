package io.github.dynamickafka

import java.util.regex.Pattern
import java.{time => jt, util => ju}

import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.metadata.service.ServiceRegistry
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.testkit.TimeLimit

class DynamicKafkaReaderBuilderSuite extends AnyFunSuite with TimeLimit {

  // Setting options requires no session, only load() does.
  private def builder = new DynamicKafkaReaderBuilder(null)

  private class Service extends KafkaMetadataService {
    def getAllStreams(): ju.Set[KafkaStream] = ju.Set.of()
    def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = ju.Map.of()
    def isClusterActive(clusterId: String): Boolean = true
    def close(): Unit = ()
  }

  test("formats") {
    val schema = StructType.fromDDL("id INT, v STRING")
    val options = builder
      .setFormat("json")
      .setKeyFormat("json", "id", "v")
      .setSchema(schema)
      .setMetadataColumns("offset", "cluster")
      .setParseErrors("drop")
      .setChangeData("rows")
      .setOption("json.allowComments", "true")
      .options()
    assert(
      options == Map(
        "format" -> "json",
        "keyFormat" -> "json",
        "keyFields" -> "id;v",
        "schema" -> schema.json,
        "metadataColumns" -> "offset;cluster",
        "parseErrors" -> "drop",
        "changeData" -> "rows",
        "json.allowComments" -> "true"
      )
    )
    assert(builder.setSchema("id INT").setKeyFormat("string").setMetadataColumns().options() ==
      Map("schema" -> "id INT", "keyFormat" -> "string", "metadataColumns" -> ""))
  }

  test("setters set options") {
    val options = builder
      .setKafkaMetadataService("file", Map("path" -> "streams.yaml"))
      .setStreamIds("orders", "payments")
      .setStartingOffsets(OffsetsInitializer.latest())
      .setBounded(OffsetsInitializer.timestamp(5))
      .setProperty("kafka.isolation.level", "read_committed")
      .setProperty("client.id", "me")
      .setOptions(Map("includeHeaders" -> "true", "cluster.blue.kafka.client.id" -> "you"))
      .setClusterProperty("Green", "isolation.level", "read_uncommitted")
      .setClusterProperty("Green", "kafka.client.rack", "r1")
      .setClusterProperty("Green", "startingOffsets", "earliest")
      .setMetadataDiscoveryInterval("10s")
      .setOption("failOnDataLoss", "false")
      .options()
    assert(
      options == Map(
        "metadataService" -> "file",
        "metadataService.path" -> "streams.yaml",
        "streamIds" -> "orders;payments",
        "startingOffsets" -> "latest",
        "endingTimestamp" -> "5",
        "kafka.isolation.level" -> "read_committed",
        "kafka.client.id" -> "me",
        "includeHeaders" -> "true",
        "cluster.blue.kafka.client.id" -> "you",
        "cluster.Green.kafka.isolation.level" -> "read_uncommitted",
        "cluster.Green.kafka.client.rack" -> "r1",
        "cluster.Green.startingOffsets" -> "earliest",
        "streamMetadataDiscoveryIntervalMs" -> "10s",
        "failOnDataLoss" -> "false"
      )
    )
    val parsed = SourceOptions.parse(new CaseInsensitiveStringMap(options.asJava))
    assert(parsed.clusters.properties.perCluster.contains("Green.kafka.client.rack"))
  }

  test("all forms of a setter set the same options") {
    val ids = Seq(
      builder.setStreamIds("a", "b"),
      builder.setStreamIds(Set("b", "a")),
      builder.setStreamIds(ju.List.of("a", "b"))
    )
    assert(ids.map(_.options()).toSet == Set(Map("streamIds" -> "a;b")))

    val patterns = Seq(builder.setStreamPattern("a.*"), builder.setStreamPattern(Pattern.compile("a.*")))
    assert(patterns.map(_.options()).toSet == Set(Map("streamPattern" -> "a.*")))

    val intervals = Seq(
      builder.setMetadataDiscoveryInterval(500L),
      builder.setMetadataDiscoveryInterval(500.millis),
      builder.setMetadataDiscoveryInterval(jt.Duration.ofMillis(500))
    )
    assert(intervals.map(_.options()).toSet == Set(Map("streamMetadataDiscoveryIntervalMs" -> "500")))
    assert(builder.setMetadataDiscoveryInterval(Duration.Inf).options().values.toSeq == Seq("-1"))
  }

  test("setting an option again replaces its value, in any spelling and form") {
    val options = builder
      .setKafkaMetadataService("file", Map("path" -> "a"))
      .setKafkaMetadataService("static", Map("document" -> "{}"))
      .setStartingOffsets(OffsetsInitializer.timestamp(5))
      .setStartingOffsets(OffsetsInitializer.committedOffsets("latest"))
      .setOption("fail-on-data-loss", "false")
      .setOption("failOnDataLoss", "true")
      .options()
    assert(
      options == Map(
        "metadataService" -> "static",
        "metadataService.document" -> "{}",
        "startingOffsets" -> "committed",
        "committedOffsetsFallback" -> "latest",
        "failOnDataLoss" -> "true"
      )
    )
  }

  test("mutually exclusive setters fail with both names") {
    Seq(
      refused(builder.setStreamIds("a").setStreamPattern("b")),
      refused(builder.setStreamPattern("b").setStreamIds("a"))
    ).foreach(error =>
      assert(error.getMessage.contains("'streamIds'") && error.getMessage.contains("'streamPattern'"))
    )
  }

  test("a value that cannot be an option value is refused") {
    assert(refused(builder.setStreamIds("a;b")).getMessage.contains("'a;b'"))
    assert(refused(builder.setStreamPattern(Pattern.compile(
      "a",
      Pattern.CASE_INSENSITIVE
    ))).getMessage.contains("(?i)"))
    assert(refused(builder.setProperty("startingOfsets", "x")).getMessage.contains("'startingOffsets'"))
    assert(refused(builder.setClusterProperty(
      "a b",
      "client.id",
      "x"
    )).getMessage.contains("'a b' is not a valid cluster id"))
    assert(refused(builder.setClusterProperty(
      "a",
      "startingOfsets",
      "x"
    )).getMessage.contains("cluster.a.startingOffsets"))
    assert(refused(builder.setFormat("jsn")).getMessage.contains("'json'"))
    assert(refused(builder.setOption("json.dateFormt", "y")).getMessage.contains("'json.dateFormat'"))
    assert(refused(builder.setOption("json.allowComments", "1")).getMessage.contains("'true'"))
    assert(refused(builder.setProperty("isolation.level", "dirty")).getMessage.contains("'dirty'"))
    assert(builder.setFormat("metadata").setOption("avro-confluent.url", "http://r").options().size == 2)
    // Spark would silently keep one of the two.
    val two =
      builder.setClusterProperty("blue", "client.id", "x").setClusterProperty("Blue", "client.id", "y")
    assert(refused(two.options()).getMessage.contains("case-insensitive"))
  }

  test("options and properties are set by methods of their own, each of which names the other one") {
    for (name <- Seq("client.id", "kafka.client.id", "acks", "Kafka.plugin.password"))
      assert(refused(builder.setOption(
        name,
        "secret"
      )).getMessage.matches("(?s).*'setProperty'.*'set_property'.*"))
    for (
      name <-
        Seq("failOnDataLoss", "kafka.fail-on-data-loss", "key.format", "registry.url", "json.dateFormat") ++
          Seq("cluster.blue.client.id", "metadataService.path", "mirrorMakerReplicationPolicy.x")
    ) {
      val text = refused(builder.setProperty(name, "secret")).getMessage
      assert(text.matches("(?s).*'setOption'.*'set_option'.*") && !text.contains("secret"))
    }
    assert(KafkaProperties.names.filter(SourceOptionSpecs.table.has).isEmpty)
    assert(KafkaProperties.names.filter(SinkOptionSpecs.table.has).isEmpty)
  }

  test("a service object is passed as a handle, the same handle for the same object") {
    val service = new Service
    def options(service: KafkaMetadataService) = builder.setKafkaMetadataService(service).options()
    assert(options(service)("metadataService") == "registered")
    val handle = options(service)("metadataService.handle")
    assert(ServiceRegistry.lookup(handle).exists(_.service eq service))
    assert(options(service)("metadataService.handle") == handle)
    assert(options(new Service)("metadataService.handle") != handle)
    ServiceRegistry.unregister(handle)
    assert(ServiceRegistry.lookup(handle).isEmpty)
  }

  test("Java offsets are equal to Scala offsets") {
    val fromJava = OffsetsInitializer.offsets(
      ju.Map.of("blue", ju.Map.of("orders", ju.Map.of(Integer.valueOf(0), java.lang.Long.valueOf(42L))))
    )
    assert(fromJava.startingOptions == OffsetsInitializer.offsets(
      Map("blue" -> Map("orders" -> Map(0 -> 42L)))
    ).startingOptions)
    assert(fromJava.endingOptions == Seq("endingOffsets" -> """{"blue":{"orders":{"0":42}}}"""))
  }
}
