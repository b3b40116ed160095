package io.github.dynamickafka.metadata

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class MetadataDocumentSuite extends AnyFunSuite with TimeLimit {

  private def parse(text: String) = MetadataDocument.parse(text, "file streams.yaml").streams

  private val Yaml =
    s"""version: 1
      |clusters:
      |  green:
      |    properties: {bootstrap.servers: "green:9092", client.id: 0123, enable.auto.commit: no}
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

  test("a YAML document, in the order that it is written in") {
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

  test("topics by pattern and by partition") {
    val streams = parse(
      Yaml.replace("topics: [orders]", "topic_pattern: 'orders-\\p{Alnum}+'")
        .replace("topics: [payments, payments.v2]", "partitions: {payments: [3, 0], payments.v2: ['1']}")
    )
    val orders = streams("orders").getClusterMetadataMap.get("blue")
    assert(orders.getTopicPattern == "orders-\\p{Alnum}+" && orders.getTopics.isEmpty)
    val green = streams("payments").getClusterMetadataMap.get("green")
    assert(green.getTopicPattern == null && green.getTopics.isEmpty)
    assert(green.getPartitions.asScala.map { case (t, ps) => t -> ps.asScala.map(_.intValue).toSeq } ==
      Map("payments" -> Seq(0, 3), "payments.v2" -> Seq(1)))
    // Only Java knows its regular expressions, so `validate` cannot say this.
    val e = intercept[Exception](parse(Yaml.replace("topics: [orders]", "topic_pattern: 'orders-('")))
    assert(
      Seq("line 18", "stream 'orders'", "cluster 'blue'", "no regular expression").forall(
        e.getMessage.contains
      ),
      e.getMessage
    )
  }

  test("a cluster that takes no writes") {
    val text = Yaml.replace("state: draining", "state: draining\n        write: false")
      .replace("{topics: [orders]}", "{topics: [orders], write: true}")
    val written = parse(text).map { case (id, stream) =>
      id -> stream.getClusterMetadataMap.asScala.map { case (cluster, m) => cluster -> m.isWrite }.toMap
    }
    assert(written ==
      Map("payments" -> Map("green" -> true, "blue" -> false), "orders" -> Map("blue" -> true)))
  }

  test("two that differ in writes alone are different, and all else is the same") {
    parse(Yaml).values.flatMap(_.getClusterMetadataMap.asScala.values).foreach { cluster =>
      val reads = cluster.withWrite(false)
      assert(cluster.isWrite && !reads.isWrite && reads != cluster)
      assert(reads.toString == cluster.toString.replace("write=true", "write=false"))
      assert(reads.withWrite(true) == cluster && reads.withWrite(true).hashCode == cluster.hashCode)
    }
  }

  test("properties are text as it is written, and references are left alone") {
    val green = parse(Yaml)("payments").getClusterMetadataMap.get("green").getProperties.asScala
    assert(green == Map(
      "bootstrap.servers" -> "green:9092",
      "client.id" -> "0123",
      "enable.auto.commit" -> "no"
    ))
    val blue = parse(Yaml)("orders").getClusterMetadataMap.get("blue").getProperties
    assert(blue.get("sasl.jaas.config") == s"$${file:/etc/blue.properties:jaas}")
  }

  test("JSON, also with the tabs and escaped slashes that YAML does not know") {
    val json =
      "\n{\t\"version\":\t1,\n\t\"clusters\": {\"blue\": {\"properties\": {\"bootstrap.servers\": \"b:1\"," +
        "\n\t\"ssl.truststore.location\": \"\\/etc\\/t\", \"a\": \"back\\\\/slash\", \"n\": 5, \"t\": true}}}," +
        "\n\t\"streams\": {\"orders\": {\"clusters\": {\"blue\": {\"topics\": [\"orders\"]}}}}}"
    val properties = parse(json)("orders").getClusterMetadataMap.get("blue").getProperties.asScala
    assert(
      properties == Map(
        "bootstrap.servers" -> "b:1",
        "ssl.truststore.location" -> "/etc/t",
        "a" -> "back\\/slash",
        "n" -> "5",
        "t" -> "true"
      )
    )
  }

  test("Flink's list of streams") {
    val streams = parse(
      """- streamId: orders
        |  clusterMetadataList:
        |    - clusterId: blue
        |      bootstrapServers: blue:9092
        |      topics: [orders, orders2]
        |    - {bootstrapServers: green, topics: [orders]}
        |- streamId: payments
        |  clusterMetadataList: []
        |""".stripMargin
    )
    assert(streams.keys.toSeq == Seq("orders", "payments"))
    val orders = streams("orders").getClusterMetadataMap.asScala
    assert(orders.keys.toSeq == Seq("blue", "green"))
    assert(orders("blue").getTopics.asScala == Set("orders", "orders2"))
    assert(orders("blue").getProperties.asScala == Map("bootstrap.servers" -> "blue:9092"))
    assert(orders("green").getProperties.asScala == Map("bootstrap.servers" -> "green"))
    assert(orders.values.forall(_.isWrite))
  }

  test("anchors, aliases and merge keys") {
    val streams = parse(
      """version: 1
        |clusters:
        |  blue: {properties: &common {bootstrap.servers: "b:1", security.protocol: SSL}}
        |  green: {properties: {<<: *common, bootstrap.servers: "g:1"}}
        |streams:
        |  orders: {clusters: {green: {topics: &t [orders]}, blue: {topics: *t}}}
        |""".stripMargin
    )
    val orders = streams("orders").getClusterMetadataMap
    assert(
      orders.get("green").getProperties.asScala ==
        Map("bootstrap.servers" -> "g:1", "security.protocol" -> "SSL")
    )
    assert(orders.get("blue").getTopics.asScala == Set("orders"))
  }

  test("no streams at all is a document; whether it is an answer is not for the parser to say") {
    assert(parse("version: 1\nstreams: {}").isEmpty)
    assert(parse("[]").isEmpty)
  }
}
