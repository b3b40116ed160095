package io.github.dynamickafka.source.decoding

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.LongAccumulator
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{Options, SourceOptionsParser}
import io.github.dynamickafka.format.csv.Csv
import io.github.dynamickafka.format.decode.Layouts
import io.github.dynamickafka.source.ClusterDecoding
import io.github.dynamickafka.source.read.{DecodeCounts, Decoding}
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.topology.{Topology, TopologyCluster, TopologyTopic}

/** The formats and registries of clusters, when the driver plans a batch. */
class ClusterDecodingSuite extends AnyFunSuite with TimeLimit {

  /** Of a table of a catalog, for which the formats of the metadata count. */
  private def decoding(options: (String, String)*): ClusterDecoding = {
    val parsed = SourceOptionsParser.parse(
      new CaseInsensitiveStringMap((Options.minimal ++ options).asJava),
      isCatalogTable = true
    )
    def counter = new LongAccumulator
    val layout = Layouts.of(parsed.format, None, includeHeaders = false)
    new ClusterDecoding(Decoding(layout, DecodeCounts(counter, counter, counter)), parsed)
  }

  /** The format options of the topic of each cluster, in the stream `orders`. */
  private def topology(clusters: (String, Map[String, String])*): Topology =
    Topology(SortedMap.from(clusters.map { case (id, format) =>
      val topics = SortedMap("t" -> TopologyTopic("orders", formatOptions = format))
      id -> TopologyCluster(id, topics, Map("bootstrap.servers" -> "localhost:1"))
    }))

  private val none = Map.empty[String, String]

  private def assertMissing(cluster: String)(planned: => Any): Unit = {
    val e = Options.refused(planned)
    assert(e.getCondition == "DYNAMIC_KAFKA.MISSING_OPTION", e.getMessage)
    assert(e.getMessage.contains(s"cluster.$cluster.registry.url"), e.getMessage)
  }

  test("a cluster without a registry is found before a task, also one that enters while the query runs") {
    val url = "cluster.blue.registry.url" -> "http://blue:1"
    for (format <- Seq("avro-confluent", "protobuf-confluent", "debezium-avro-confluent")) {
      val of = decoding("format" -> format, "schema" -> "id INT", url)
      assert(of.of(Seq(topology("blue" -> none))).ofClusters.keySet == Set("blue" -> "orders"), format)
      assertMissing("green")(of.of(Seq(topology("blue" -> none), topology("blue" -> none, "green" -> none))))
      // A format or a registry of its own is enough.
      val own = if (format.startsWith("debezium")) "debezium-json" else "json"
      for (metadata <- Seq(Map("format" -> own), Map("registry.url" -> "http://green:1"))) {
        val found = of.of(Seq(topology("blue" -> none, "green" -> metadata))).ofClusters
        assert(found.keySet == Set("blue" -> "orders", "green" -> "orders"), format)
      }
    }
  }

  test("the registry of keys; the records of json-confluent are read without one") {
    val keys = Seq(
      "keyFormat" -> "avro-confluent",
      "keyFields" -> "id",
      "valueFieldsInclude" -> "EXCEPT_KEY",
      "schema" -> "id INT, v INT"
    )
    val url = "cluster.blue.registry.url" -> "http://blue:1"
    val both = topology("blue" -> none, "green" -> none)
    assertMissing("green")(decoding(keys ++ Seq("format" -> "json", url): _*).of(Seq(both)))
    val json = decoding("format" -> "json-confluent", "schema" -> "id INT", url).of(Seq(both))
    assert(json.ofClusters.keySet == Set("blue" -> "orders"))
  }

  test("the formats of all topologies of a batch, each made once") {
    val of = decoding("format" -> "json", "schema" -> "id INT")
    val (csv, avro) = (Map("format" -> "csv"), Map("format" -> "avro"))
    val before = topology("blue" -> csv, "green" -> none)
    val first = of.of(Seq(before)).ofClusters
    assert(first.view.mapValues(_.value.format.format).toMap == Map(("blue", "orders") -> Csv))
    val both = of.of(Seq(before, topology("green" -> none, "red" -> avro))).ofClusters
    assert(both.keySet == Set("blue" -> "orders", "red" -> "orders"))
    assert(both("blue" -> "orders") eq first("blue" -> "orders"))
    assert(
      both("red" -> "orders").columns.map(_.field.name) == first("blue" -> "orders").columns.map(_.field.name)
    )
  }

  test("a format that cannot have the columns of the stream is refused before a task") {
    val of = decoding("format" -> "json", "schema" -> "id INT")
    val e = Options.refused(of.of(Seq(topology("blue" -> Map("format" -> "canal-json")))))
    assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION" && e.getMessage.contains("changes of rows"))
  }
}
