package io.github.dynamickafka.metadata.document

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.ClusterMetadata

class MetadataDocumentSuite extends AnyFunSuite {

  private def parse(text: String) = MetadataDocument.parse(text, "file streams.yaml")

  private val Yaml =
    s"""version: 1
      |clusters:
      |  green:
      |    properties: {bootstrap.servers: "green:9092", client.id: "0123"}
      |  blue:
      |    properties: {bootstrap.servers: "blue:9092", sasl.jaas.config: "$${file:/etc/blue.properties:jaas}"}
      |streams:
      |  payments:
      |    clusters:
      |      green: {topics: [payments, payments.v2], startingOffsets: 1763700000000}
      |      blue:
      |        topics: [payments]
      |        state: draining
      |        starting_offsets: {payments: {1: 7, 0: 42}}
      |        stopping_offsets: latest
      |  orders:
      |    clusters:
      |      blue: {topics: [orders]}
      |""".stripMargin

  test("streams and clusters keep the order of the document") {
    val streams = parse(Yaml)
    assert(streams.keys.toSeq == Seq("payments", "orders"))
    val clusters = streams("payments").getClusterMetadataMap
    assert(clusters.keySet.asScala.toSeq == Seq("green", "blue"))
    val green = clusters.get("green")
    assert(green.getTopics.asScala.toSeq == Seq("payments", "payments.v2"))
    assert(green.getStartingOffsets == "1763700000000")
    assert(green.getStoppingOffsets == null)
    assert(green.getState == ClusterMetadata.Active)
    val blue = clusters.get("blue")
    assert(blue.getState == ClusterMetadata.Draining)
    assert(blue.getStartingOffsets == """{"payments":{"0":42,"1":7}}""")
    assert(blue.getStoppingOffsets == "latest")
  }

  test("topics by a Java regular expression, which is compiled") {
    val streams = parse(Yaml.replace("topics: [orders]", "topic_pattern: 'orders-\\p{Alnum}+'"))
    val orders = streams("orders").getClusterMetadataMap.get("blue")
    assert(orders.getTopicPattern == "orders-\\p{Alnum}+" && orders.getTopics.isEmpty)
    val e = intercept[Exception](parse(Yaml.replace("topics: [orders]", "topic_pattern: 'orders-('")))
    assert(
      Seq("line 18", "stream 'orders'", "cluster 'blue'", "not a valid regular expression").forall(
        e.getMessage.contains
      ),
      e.getMessage
    )
  }

  test("a document of more than 3 MiB is refused") {
    val e = intercept[Exception](parse("version: '" + "x" * 4000000 + "'\nstreams: {}"))
    assert(e.getMessage.contains("not valid YAML or JSON"), e.getMessage.take(300))
  }

  test("entries that differ only in `write` are not equal") {
    parse(Yaml).values.flatMap(_.getClusterMetadataMap.asScala.values).foreach { cluster =>
      val reads = cluster.withWrite(false)
      assert(cluster.isWrite && !reads.isWrite && reads != cluster)
      assert(reads.toString == cluster.toString.replace("write=true", "write=false"))
      assert(reads.withWrite(true) == cluster && reads.withWrite(true).hashCode == cluster.hashCode)
    }
  }
}
