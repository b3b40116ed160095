package io.github.dynamickafka

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.RoundRobinPartitioner
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.config.{ClusterRouting, DeliveryGuarantee, PartitionerChoice, SinkOptions}
import io.github.dynamickafka.testkit.TimeLimit

class DynamicKafkaWriterBuilderSuite extends AnyFunSuite with TimeLimit {

  // Setting options requires no DataFrame, only writing does.
  private def builder = new DynamicKafkaWriterBuilder(null)

  test("setters set options") {
    val options = builder
      .setKafkaMetadataService("file", Map("path" -> "streams.yaml"))
      .setStreamId("orders")
      .setClusterRouting("all")
      .setWriteFailover("none")
      .setClusterDistribution("auto")
      .setDeliveryGuarantee("exactly-once")
      .setTransactionalIdPrefix("shop")
      .setPartitioner("round-robin")
      .setProperty("kafka.compression.type", "zstd")
      .setProperty("linger.ms", "20")
      .setOptions(ju.Map.of("deadLetterTopic", "rejected", "cluster.blue.kafka.client.id", "you"))
      .setClusterProperty("Green", "compression.type", "lz4")
      .setClusterProperty("Green", "kafka.client.rack", "r1")
      .setMetadataDiscoveryInterval("10s")
      .setOption("commitTimeoutMs", "5s")
      .options()
    assert(
      options == Map(
        "metadataService" -> "file",
        "metadataService.path" -> "streams.yaml",
        "streamId" -> "orders",
        "clusterRouting" -> "all",
        "writeFailover" -> "none",
        "clusterDistribution" -> "auto",
        "deliveryGuarantee" -> "exactly-once",
        "transactionalIdPrefix" -> "shop",
        "partitioner" -> "round-robin",
        "kafka.compression.type" -> "zstd",
        "kafka.linger.ms" -> "20",
        "deadLetterTopic" -> "rejected",
        "cluster.blue.kafka.client.id" -> "you",
        "cluster.Green.kafka.compression.type" -> "lz4",
        "cluster.Green.kafka.client.rack" -> "r1",
        "streamMetadataDiscoveryIntervalMs" -> "10s",
        "commitTimeoutMs" -> "5s"
      )
    )
    val parsed = SinkOptions.parse(new CaseInsensitiveStringMap(options.asJava))
    assert(parsed.routing.streamId.contains("orders") && parsed.routing.clusters == ClusterRouting.All)
    assert(
      parsed.delivery.guarantee == DeliveryGuarantee.ExactlyOnce && parsed.delivery.transactions.idPrefix == "shop"
    )
    assert(parsed.routing.partitioner == PartitionerChoice.RoundRobin)
    assert(parsed.clusters.properties.perCluster.contains("Green.kafka.client.rack"))
  }

  test("a partitioner is a keyword, a class or a class name") {
    val byClass = builder.setPartitioner(classOf[RoundRobinPartitioner]).options()
    assert(byClass == builder.setPartitioner(classOf[RoundRobinPartitioner].getName).options())
    assert(byClass == Map("partitioner" -> "org.apache.kafka.clients.producer.RoundRobinPartitioner"))
  }

  test("Java properties are equal to Scala properties") {
    val properties = new ju.Properties
    properties.setProperty("acks", "1")
    assert(builder.setProperties(properties).options() == Map("kafka.acks" -> "1"))
  }

  test("setting an option again replaces its value, in any spelling") {
    val options = builder
      .setKafkaMetadataService("file", Map("path" -> "a"))
      .setKafkaMetadataService("static", ju.Map.of("document", "{}"))
      .setOption("delivery-guarantee", "none")
      .setDeliveryGuarantee("exactly-once")
      .options()
    assert(
      options == Map(
        "metadataService" -> "static",
        "metadataService.document" -> "{}",
        "deliveryGuarantee" -> "exactly-once"
      )
    )
  }

  test("only options of the sink are suggested") {
    assert(refused(builder.setProperty("clusterRooting", "x")).getMessage.contains("'clusterRouting'"))
    assert(!refused(builder.setProperty("startingOfsets", "x")).getMessage.contains("startingOffsets"))
    assert(refused(builder.setClusterProperty(
      "a b",
      "client.id",
      "x"
    )).getMessage.contains("'a b' is not a valid cluster"))
  }
}
